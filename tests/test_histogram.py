"""Histograms."""

import struct
import subprocess
import sys

import numpy as np

import rollscope as rs
from rollscope import vocabulary as v
from rollscope.background import background


def test_it_is_one_record(rollscope_memory):
    """Edges and counts packed, what was not finite apart, at the current step."""
    with rs.step(3):
        rs.histogram("reward/dist", [0.0, 1.0, 1.0, float("nan"), float("-inf")], bins=2, split="validation")
    event = rollscope_memory.event(v.EVENT_HISTOGRAM)
    assert event.attributes == {
        v.HISTOGRAM_NAME: "reward/dist",
        v.STEP_INDEX: 3,
        v.SPLIT_NAME: "validation",
        v.HISTOGRAM_EDGES: struct.pack("<3d", 0.0, 0.5, 1.0),
        v.HISTOGRAM_COUNTS: struct.pack("<2q", 1, 2),
        v.HISTOGRAM_COUNT: 3,
        v.HISTOGRAM_SUM: 2.0,
        v.HISTOGRAM_MIN: 0.0,
        v.HISTOGRAM_MAX: 1.0,
        v.HISTOGRAM_NAN: 1,
        v.HISTOGRAM_POSITIVE_INFINITE: 0,
        v.HISTOGRAM_NEGATIVE_INFINITE: 1,
    }


def test_a_large_array_may_change_after_the_call(rollscope_memory):
    """It is copied, and binned in the background."""
    values = np.ones(200_000, dtype=np.float32)
    rs.histogram("w", values, step=1, edges=[0.0, 0.5, 1.5])
    values[:] = 0.0
    assert background.drain(30) == 0
    assert rollscope_memory.event(v.EVENT_HISTOGRAM).attributes[v.HISTOGRAM_COUNTS] == struct.pack("<2q", 0, 200_000)


def test_it_imports_no_numpy():
    """A program without numpy stays without."""
    program = (
        "import sys; import rollscope as rs; from rollscope.testing import memory_recorder\n"
        "with memory_recorder() as memory:\n"
        "    rs.histogram('h', [1, 2, 3], step=1)\n"
        "print(len(memory.events), 'numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split() == ["1", "False"]


def test_without_a_run_nothing_is_looked_at():
    """One look-up, whatever is given."""
    looked = []

    class Values:
        def __float__(self):
            looked.append(self)
            return 1.0

    rs.histogram("h", Values())
    assert looked == []
    with rs.testing.memory_recorder(strict=False):
        rs.histogram("h", Values())
    assert looked
