"""Programs that tests start beside themselves."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

WRITER = """
import sys, time
from pathlib import Path
sys.path.insert(0, {tests!r})
from producers import open_log, span_end, span_start, step_metrics, tokens, write
journal = open_log(Path(sys.argv[1]), sys.argv[2])
for n in range(int(sys.argv[3])):
    start = span_start(attributes={{"n": n}})
    write(journal, start, span_end(trace_id=start.trace_id, span_id=start.span_id), tokens([n]), step_metrics(n, {{"n": n}}))
    print(3 * n + 3, flush=True)
    time.sleep(float(sys.argv[4]))
if len(sys.argv) > 5:
    write(journal, span_start("left open"))
    print("open", flush=True)
    time.sleep(600)
"""


def environment(endpoint: str = "", **more: str) -> dict[str, str]:
    """An environment without anything of ours but what is given; a shipper in it ends soon after its producers."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith(("ROLLSCOPE", "OTEL_"))}
    return {**kept, "ROLLSCOPE_SHIPPER_GRACE": "0.5", **({"ROLLSCOPE_ENDPOINT": endpoint} if endpoint else {}), **more}


@contextmanager
def writer(directory: Path, producer: str, rounds: int, pause: float = 0.0, *, hang: bool = False) -> Iterator[subprocess.Popen[str]]:
    """A process that writes three records a round, and prints the highest number written so far."""
    program = WRITER.format(tests=str(Path(__file__).parent))
    arguments = [str(directory), producer, str(rounds), str(pause), *(["hang"] if hang else [])]
    process = subprocess.Popen([sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def shipper_pid(directory: Path) -> int | None:
    """Process id of the shipper that works on `directory`, None when none does."""
    with contextlib.suppress(OSError, ValueError, KeyError):
        pid = int(json.loads((directory / "shipper.json").read_text())["pid"])
        if str(directory) in Path(f"/proc/{pid}/cmdline").read_text().split("\0"):
            return pid
    return None


def shippers(directory: Path) -> list[int]:
    """Process ids of all shippers of `directory`."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdecimal() and {"rollscope.shipper", str(directory)} <= set((entry / "cmdline").read_text().split("\0")):
                found.append(int(entry.name))
    return found


def kill(pids: Iterable[int]) -> None:
    """Kill processes and wait until they are gone: one that was just killed holds its lock a moment longer."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        while os.path.exists(f"/proc/{pid}"):
            time.sleep(0.01)


@contextmanager
def no_shipper_left(directory: Path) -> Iterator[None]:
    """End the shippers of `directory` whatever happens."""
    try:
        yield
    finally:
        kill(shippers(directory))


def run_shipper(directory: Path, *arguments: str, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run `python -m rollscope.shipper DIR …` to its end."""
    command = [sys.executable, "-m", "rollscope.shipper", str(directory), *arguments]
    return subprocess.run(command, env=dict(env), capture_output=True, text=True, timeout=300, check=False)
