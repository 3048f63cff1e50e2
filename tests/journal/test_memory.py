"""Memory stays flat however much is recorded."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path


def test_memory_is_flat(tmp_path: Path, run_python: Callable[[Path, str], subprocess.Popen[str]]) -> None:
    """200 MB recorded with nobody reading: resident memory grows by less than the open segments."""
    program = """
        def resident():
            return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
        journal = Journal(folder, meta={}, limit=64 << 20)
        for _ in range(20000):
            journal.append(b"x" * 500)
        before = resident()
        for n in range(400000):
            journal.append(b"x" * 500)
        print(resident() - before, sum(p.stat().st_size for p in folder.iterdir()))
    """
    with run_python(tmp_path, program) as process:
        assert process.stdout is not None
        grown, disk = map(int, process.stdout.read().split())

    assert grown < 16 << 20
    assert disk <= 64 << 20
