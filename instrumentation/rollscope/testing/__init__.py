"""Test your own instrumentation: the recorder's whole code path over a journal in memory.

    def test_my_rollout():
        with rollscope.testing.memory_recorder() as memory:
            my_rollout()
        assert [span.name for span in memory.spans] == ["rl.turn", "invoke_agent airline"]

Inside, an error of the recorder is raised instead of counted. `pytest_plugins = ["rollscope.testing.plugin"]` gives the same as the
fixture `rollscope_memory`.
"""

from .clock import ManualClock
from .ids import CountingIds
from .journal import MemoryJournal
from .memory import Memory, memory_recorder

__all__ = ["CountingIds", "ManualClock", "Memory", "MemoryJournal", "memory_recorder"]
