"""Work that nobody waits for."""

import os
import subprocess
import sys
import threading

import pytest

from rollscope.background import Background


def test_jobs_run_in_order_in_a_thread_of_their_own(rollscope_memory):
    """The caller goes on; `drain` waits."""
    worker, done = Background(), []
    for number in range(5):
        assert worker.submit(rollscope_memory.recorder, lambda n=number: done.append((n, threading.current_thread().name)), "hook")
    assert worker.drain(5) == 0
    assert done == [(number, "rollscope-background") for number in range(5)]


def test_a_full_queue_refuses_and_counts(rollscope_memory):
    """Nobody waits for room."""
    worker, go = Background(limit=2), threading.Event()
    jobs = [worker.submit(rollscope_memory.recorder, go.wait, "hook")]
    while worker._jobs:
        pass
    jobs += [worker.submit(rollscope_memory.recorder, go.wait, "hook") for _ in range(3)]
    assert jobs == [True, True, True, False]
    assert worker.drain(0.01) == 3
    assert rollscope_memory.journal.dropped == {"hook_overflow": 1}
    go.set()
    assert worker.drain(5) == 0


def test_a_job_that_raises_is_counted(rollscope_memory):
    """The thread goes on."""
    worker, done = Background(), []
    worker.submit(rollscope_memory.recorder, lambda: 1 / 0, "artifact")
    worker.submit(rollscope_memory.recorder, lambda: done.append(1), "artifact")
    assert worker.drain(5) == 0
    assert done == [1]
    assert rollscope_memory.journal.dropped == {"artifact": 1}


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # Python 3.12 and later warn of exactly what is tested here
def test_it_works_again_in_a_forked_child(rollscope_memory):
    """The child has no thread and no job of its parent, and starts its own."""
    from rollscope.background import background

    go = threading.Event()
    background.submit(rollscope_memory.recorder, go.wait, "hook")
    child = os.fork()
    if child == 0:
        done = threading.Event()
        background.submit(rollscope_memory.recorder, done.set, "hook")
        os._exit(0 if background.drain(5) == 0 and done.is_set() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    go.set()
    assert background.drain(5) == 0


def test_the_end_of_a_program_waits_a_tenth_of_a_second(tmp_path):
    """A hook that hangs does not hold up the exit; what was left is counted."""
    program = """
import rollscope as rs, time

@rs.register_trace_hook("slow")
def slow(data):
    time.sleep(60)

rs.init(project="p", experiment="e", directory="node", storage=".", circumstances=False)
with rs.trajectory():
    pass
began = []
rs.recorder.current().on_close.insert(0, lambda: began.append(time.monotonic()))
rs.recorder.current().on_close.append(lambda: print(time.monotonic() - began[0]))
"""
    environment = {**os.environ, "ROLLSCOPE_SHIPPER": "off"}
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=environment, check=True, capture_output=True, text=True)
    assert 0.1 <= float(done.stdout) < 30
    assert "not finished when the run ended" in done.stderr
