"""One number out of whatever holds one."""

import decimal
import fractions
import math
from types import SimpleNamespace

import numpy as np
import pytest

from rollscope.scalars import NotScalarError, number


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (1, 1),
        (True, True),
        (0.5, 0.5),
        ("best", "best"),
        (np.float32(0.5), 0.5),
        (np.float64(0.5), 0.5),
        (np.int64(3), 3),
        (np.bool_(True), True),
        (np.str_("x"), "x"),
        (np.array([2.5]), 2.5),
        (np.longdouble(0.25), 0.25),
        (decimal.Decimal("0.5"), 0.5),
        (fractions.Fraction(1, 4), 0.25),
        (1 << 70, float(1 << 70)),
        (10**400, math.inf),
        (-(10**400), -math.inf),
    ],
)
def test_numbers_of_all_libraries_become_plain(value, wanted):
    """Scalars of Python, numpy and the standard library become exact plain ones; what is beyond 64 bits a float."""
    found = number(value)
    assert found == wanted
    assert type(found) is type(wanted)


@pytest.mark.parametrize("value", [None, [1], {}, object(), b"1", np.arange(2), np.array([]), 1j, np.complex128(1j)])
def test_what_is_no_scalar_is_said(value):
    """Lists, arrays, None, bytes and complex numbers are no scalars."""
    with pytest.raises(NotScalarError):
        number(value)


def test_a_tensor_on_a_device_is_not_read():
    """Stand-in for a CUDA tensor: reading it would wait, so it is refused with the way out."""
    tensor = SimpleNamespace(dtype="float32", shape=(), device="cuda:1")
    with pytest.raises(NotScalarError, match=r"cuda:1 is not read.*tensor\.item\(\)"):
        number(tensor)
