"""Token arrays: every form an engine gives, and a clear word about the others."""

import math
from array import array
from types import SimpleNamespace

import numpy as np
import pytest

from rollscope.arrays import FLOATS, IDS, MASK, ArrayError, length, normalise


@pytest.mark.parametrize("values", [[1, 2], (1, 2), range(1, 3), array("i", [1, 2]), memoryview(array("q", [1, 2])), list(np.arange(1, 3))])
def test_python_sequences_stay_lists(values):
    """Sequences of Python are recorded as lists of plain integers."""
    found = normalise(values, IDS, "output")
    assert found == [1, 2]
    assert [type(value) for value in found] == [int, int]


@pytest.mark.parametrize("dtype", ["i4", "i8", "u2", ">i4"])
def test_arrays_become_little_endian_bytes(dtype):
    """Integer arrays of any width and order become little-endian int32."""
    assert normalise(np.array([1, -2, 150_000 if dtype != "u2" else 9]).astype(dtype)[:1], IDS, "output") == b"\x01\0\0\0"


@pytest.mark.parametrize("dtype", ["i8", ">i8", "u8", "u4"])
def test_arrays_with_ids_beyond_32_bits_are_refused(dtype):
    """They would become other ids; those at the edge are taken."""
    edge = np.array([0, (1 << 31) - 1]).astype(dtype)
    assert np.frombuffer(normalise(edge, IDS, "output"), "<i4").tolist() == [0, (1 << 31) - 1]
    beyond = np.array([5, 1 << 31]).astype(dtype)
    with pytest.raises(ArrayError, match="output: has ids from 5 to 2147483648, beyond 32 bits"):
        normalise(beyond, IDS, "output")


def test_negative_ids_in_range_are_kept():
    """Some programs pad with -1 or -100."""
    assert np.frombuffer(normalise(np.array([-100, -(1 << 31)]), IDS, "output"), "<i4").tolist() == [-100, -(1 << 31)]
    with pytest.raises(ArrayError, match="beyond 32 bits"):
        normalise(np.array([-(1 << 31) - 1]), IDS, "output")


def test_log_probabilities_become_float16():
    """Floats of any width become float16; what is below its range becomes -inf without a warning."""
    packed = normalise(np.array([-0.5, -1e9]), FLOATS, "logprobs")
    assert np.frombuffer(packed, "<f2").tolist() == [-0.5, -math.inf]
    assert length(packed, FLOATS) == 2


def test_a_missing_log_probability_is_nan():
    """The first prompt log-probability, which engines leave None, becomes NaN."""
    found = normalise([None, -0.5], FLOATS, "prompt_logprobs")
    assert math.isnan(found[0])
    assert found[1] == -0.5


@pytest.mark.parametrize(("mask", "wanted"), [([1.0, 0.0], [True, False]), ([True, False], [True, False]), ([1, 0], [1, 0])])
def test_masks_come_as_numbers_or_booleans(mask, wanted):
    """Any zero of a mask is off, anything else is on."""
    assert normalise(mask, MASK, "loss_mask") == wanted
    assert normalise(np.array(mask), MASK, "loss_mask") == b"\x01\x00"


@pytest.mark.parametrize(
    ("values", "kind", "message"),
    [
        ([[1, 2]], IDS, "output: not a flat array of numbers"),
        ([1, "2"], IDS, "output: not a flat array of numbers"),
        ([1.5], IDS, "output: not a flat array of numbers"),
        ([1, None], IDS, "output: not a flat array of numbers"),
        ("12", IDS, "output: a builtins.str is no list"),
        (7, IDS, "output: a builtins.int is no list"),
        (np.zeros((1, 2), int), IDS, r"output: has the shape \(1, 2\)"),
        (np.zeros(2), IDS, "output: has the type float64, integers are wanted"),
        (b"\0\0\0", IDS, "output: 3 packed bytes"),
        (np.array(["a"]), FLOATS, "output: not a flat array of numbers"),
    ],
)
def test_what_is_no_flat_array_is_refused_by_name(values, kind, message):
    """The error names the argument and what is wrong with it."""
    with pytest.raises(ArrayError, match=message):
        normalise(values, kind, "output")


class Tensor:
    """Stand-in for `torch.Tensor`, which is too large to install here: device, dtype, detach, float, numpy."""

    def __init__(self, values, device="cpu", bfloat16=False):
        self.values, self.device, self.bfloat16 = values, device, bfloat16
        self.dtype = SimpleNamespace(is_floating_point=values.dtype.kind == "f")

    def detach(self):
        return self

    def float(self):
        return Tensor(self.values)

    def numpy(self):
        if self.device != "cpu":
            raise AssertionError("the device was read")
        if self.bfloat16:
            raise TypeError("Got unsupported ScalarType BFloat16")
        return self.values


Tensor.__module__ = "torch"


def test_tensors_in_memory_are_read():
    """CPU tensors, bfloat16 among them, become packed bytes."""
    assert normalise(Tensor(np.array([3])), IDS, "output") == b"\x03\0\0\0"
    assert normalise(Tensor(np.array([1.0], "f4"), bfloat16=True), FLOATS, "logprobs") == b"\x00\x3c"


def test_a_tensor_on_a_device_is_not_read():
    """Nothing waits for a GPU: the tensor is refused with the way to hand it over."""
    with pytest.raises(ArrayError, match=r"lies on cuda:0 .* tensor\.tolist\(\)"):
        normalise(Tensor(np.array([3]), device="cuda:0"), IDS, "output")
