"""Tests with real processes, threads and tasks: what a call recorded is there, under the right producer."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from rollscope import vocabulary as v
from rollscope.journal import LogReader, list_logs
from rollscope.records import Event, Record, SpanEnd, SpanStart

ReadBack = Callable[..., list[Record]]
Program = Callable[..., "subprocess.CompletedProcess[str]"]

BEGIN = "r = R.init('p', 'e', circumstances=False)\n"


def names(records: list[Record], kind: type[Record] = Event) -> list[str]:
    return [record.name for record in records if isinstance(record, kind) and record.name != v.EVENT_RUN_STARTED]  # type: ignore[union-attr]


def test_a_kill_right_after_a_call_returned_loses_nothing(run_program: Program, read_back: ReadBack) -> None:
    """`kill -9` of itself after each kind of call, a hundred records deep: all of them are read back."""
    run_program(
        BEGIN
        + """
for n in range(100):
    r.event(f'e{n}', {'n': n})
    span = r.start_span(f's{n}', attributes={'n': n})
    if n < 99:
        span.end()
    r.tokens(span.trace_id, span.span_id, role='output', ids=[n])
os.kill(os.getpid(), signal.SIGKILL)
""",
        check=False,
    )
    records = read_back()
    assert names(records) == [f"e{n}" for n in range(100)]
    assert names(records, SpanEnd) == [f"s{n}" for n in range(99)]
    assert names(records, SpanStart) == ["s99"]
    (folder,) = list_logs(Path("rollscope/journal/producers"))
    assert not LogReader(folder).alive()


def test_a_forked_child_writes_a_log_of_its_own(run_program: Program, read_back: ReadBack) -> None:
    """Same run, another producer and pid; ids differ; the parent's open span stays the parent's."""
    run_program(
        BEGIN
        + """
with r.start_span('open') as span:
    r.event('before', {})
    pid = os.fork()
    r.event('child' if pid == 0 else 'parent', {'pid': os.getpid()})
    r.start_span('inside').end()
    if pid:
        assert os.waitpid(pid, 0)[1] == 0
"""
    )
    folders = list_logs(Path("rollscope/journal/producers"))
    assert len(folders) == 2
    records = read_back()
    events = {record.name: record for record in records if isinstance(record, Event)}
    assert set(events) == {v.EVENT_RUN_STARTED, "before", "child", "parent", v.EVENT_RUN_FINISHED}
    child = read_back(**{v.PROCESS_PID: events["child"].attributes["pid"]})
    assert names(child) == ["child"]
    ends = [record for record in records if isinstance(record, SpanEnd)]
    assert Counter(record.name for record in ends) == {"inside": 2, "open": 1}
    inside = [record for record in ends if record.name == "inside"]
    opened = next(record for record in ends if record.name == "open")
    assert len({record.span_id for record in ends}) == 3
    assert {record.parent_id for record in inside} == {opened.span_id}


def test_children_forked_by_multiprocessing_close_their_logs(run_program: Program, read_back: ReadBack) -> None:
    """They leave past `atexit`, and still in order; none of them ends the run."""
    run_program(
        """
import multiprocessing
def work(n):
    R.current().event(f'child {n}', {})
r = R.init('p', 'e', circumstances=False)
workers = [multiprocessing.get_context('fork').Process(target=work, args=(n,)) for n in range(3)]
for w in workers: w.start()
for w in workers: w.join()
"""
    )
    records = read_back()
    assert sorted(names(records)) == ["child 0", "child 1", "child 2", v.EVENT_RUN_FINISHED]
    for folder in list_logs(Path("rollscope/journal/producers")):
        reader = LogReader(folder)
        assert not reader.alive()
        assert reader.counters().last_sequence == len([r for lane in range(3) for r in reader.read(lane, 1 << 20) if r.sequence])


def test_spawned_children_join_by_the_environment(run_program: Program, read_back: ReadBack) -> None:
    """A pool of spawned workers, none of which calls `init`."""
    run_program(
        """
import multiprocessing
def work(n):
    with R.current().start_span(f'child {n}'):
        return os.getpid()
if __name__ == '__main__':
    r = R.init('p', 'e', circumstances=False)
    with multiprocessing.get_context('spawn').Pool(2) as pool:
        pids = pool.map(work, range(4))
    print(r.identity.run.id)
"""
    )
    records = read_back()
    assert sorted(names(records, SpanEnd)) == [f"child {n}" for n in range(4)]
    runs = {LogReader(folder).meta()["run"] for folder in list_logs(Path("rollscope/journal/producers"))}
    assert len(runs) == 1


def test_a_program_started_with_a_copied_environment_joins(run_program: Program, read_back: ReadBack) -> None:
    """What Ray's `runtime_env` and `subprocess` with `env=` need is `environment()`."""
    run_program(
        BEGIN
        + """
import subprocess
clean = {'PATH': os.environ['PATH'], 'ROLLSCOPE_SHIPPER': 'off'}
code = "import rollscope.recorder as R; R.init('p', 'e', role='tool'); R.current().event('joined', {})"
subprocess.run([sys.executable, '-c', code], env={**clean, **R.environment()}, cwd='/', check=True)
"""
    )
    records = read_back()
    assert sorted(names(records)) == ["joined", v.EVENT_RUN_FINISHED]
    assert names(read_back(**{v.WORKER_ROLE: "tool"})) == ["joined"]


def test_a_child_that_records_nothing_leaves_nothing(run_program: Program) -> None:
    """Data loader workers and helpers cost no folder."""
    run_program(BEGIN + "pid = os.fork()\nif pid == 0: os._exit(0)\nos.waitpid(pid, 0)")
    assert len(list_logs(Path("rollscope/journal/producers"))) == 1


def test_threads_record_side_by_side(run_program: Program, read_back: ReadBack) -> None:
    """Eight threads, nothing lost, no id twice, each with its own current span."""
    run_program(
        BEGIN
        + """
def work(n):
    for m in range(200):
        with r.start_span(f'outer {n}') as outer, r.start_span('inner', attributes={'parent': outer.span_id}):
            pass
threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
for t in threads: t.start()
for t in threads: t.join()
"""
    )
    ends = [record for record in read_back() if isinstance(record, SpanEnd)]
    assert len(ends) == 3200
    assert len({record.span_id for record in ends}) == 3200
    assert len({record.trace_id for record in ends}) == 1600
    assert all(record.parent_id == record.attributes.get("parent") for record in ends)


def test_seeded_processes_never_share_an_id(run_program: Program, read_back: ReadBack) -> None:
    """Every rank seeds alike; parent, forked and spawned children draw different ids all the same."""
    run_program(
        """
import multiprocessing, random
def work(n):
    random.seed(0)
    for _ in range(100): R.current().start_span('s').end()
if __name__ == '__main__':
    R.init('p', 'e', circumstances=False)
    for method in ('fork', 'spawn'):
        with multiprocessing.get_context(method).Pool(2) as pool:
            pool.map(work, range(4), chunksize=1)
    work(0)
"""
    )
    ids = [record.span_id for record in read_back() if isinstance(record, SpanEnd)]
    assert len(ids) == len(set(ids)) == 900


def test_a_signal_handler_may_record(run_program: Program, read_back: ReadBack) -> None:
    """A handler that interrupts a record writes one of its own; both arrive."""
    run_program(
        BEGIN
        + """
hits = [0]
def handler(*_):
    hits[0] += 1
    r.event('signal', {'n': hits[0]})
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
count = 0
end = time.monotonic() + 1
while time.monotonic() < end:
    with r.start_span('work'): count += 1
signal.setitimer(signal.ITIMER_REAL, 0)
r.event('total', {'spans': count, 'signals': hits[0]})
"""
    )
    records = read_back()
    total = next(record for record in records if isinstance(record, Event) and record.name == "total").attributes
    assert names(records).count("signal") == total["signals"]
    assert names(records, SpanEnd).count("work") == total["spans"]


def test_a_child_forked_while_a_run_begins_can_begin_one(run_program: Program, read_back: ReadBack) -> None:
    """The thread that was in `init` is not in the child; its lock must not be either."""
    run_program(
        """
import rollscope.recorder.starting as starting
held, over = threading.Event(), threading.Event()
def begin():
    with starting._lock:
        held.set()
        over.wait()
threading.Thread(target=begin).start()
held.wait()
child = os.fork()
if child == 0:
    R.init('p', 'e', circumstances=False).event('from the child', {})
    R.finish()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
over.set()
"""
    )
    assert "from the child" in names(read_back())


@pytest.mark.parametrize(
    ("module", "call"),
    [
        ("rollscope.journal", "lambda: rollscope.init"),
        ("rollscope.recorder.announcing", "lambda: R.init('p', 'e', circumstances=False)"),
        ("rollscope.propagation", "lambda: (R.init('p', 'e', circumstances=False), rollscope.carrier())"),
    ],
)
def test_a_child_forked_while_a_call_imports_can_call_as_well(run_program: Program, read_back: ReadBack, module: str, call: str) -> None:
    """The fork waits for the import of another thread: in the child nobody would end it."""
    run_program(
        f"""
import rollscope
under_way = threading.Event()
class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == '{module}':
            under_way.set()
            time.sleep(0.3)
sys.meta_path.insert(0, Slow())
assert '{module}' not in sys.modules
thread = threading.Thread(target={call})
thread.start()
under_way.wait()
child = os.fork()
if child == 0:
    assert isinstance(rollscope.carrier(), dict)
    R.init('p', 'e', circumstances=False).event('from the child', {{}})
    R.finish()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
thread.join()
"""
    )
    assert "from the child" in names(read_back())


def test_a_fork_waits_for_an_import_within_bounds(run_program: Program, read_back: ReadBack) -> None:
    """An import may need what a hook before the fork holds: parent and child go on even so."""
    run_program(
        """
module = sys.modules['rollscope.importing']
lock, under_way = threading.Lock(), threading.Event()
os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
def needs_it():
    with module.importing:
        under_way.set()
        time.sleep(0.3)
        with lock: pass
R.init('p', 'e', circumstances=False)
thread = threading.Thread(target=needs_it)
thread.start()
under_way.wait()
module._LONGEST = 0.1
child = os.fork()
with module.importing:  # in the child nobody holds it, in the parent its holder goes on
    R.current().event('from the child' if child == 0 else 'from the parent', {})
if child == 0:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
thread.join()
"""
    )
    assert {"from the child", "from the parent"} <= set(names(read_back()))


def test_a_run_that_enters_the_environment_later_is_joined(run_program: Program, read_back: ReadBack) -> None:
    """As it does where a framework sets the variables of a worker that has imported everything."""
    run_program(
        """
assert 'rollscope.journal' not in sys.modules
os.environ['ROLLSCOPE_RUN_ID'] = 'abc'
R.current().event('joined', {})
"""
    )
    assert names(read_back()) == ["joined"]


def test_threads_that_record_while_one_joins_lose_nothing(run_program: Program, read_back: ReadBack) -> None:
    """All wait for the one that joins, and for what it imports."""
    run_program(
        """
from concurrent.futures import ThreadPoolExecutor
os.environ['ROLLSCOPE_RUN_ID'] = 'abc'
with ThreadPoolExecutor(8) as pool:
    list(pool.map(lambda n: R.current().event(str(n), {}), range(32)))
"""
    )
    assert sorted(names(read_back()), key=int) == [str(n) for n in range(32)]


def test_a_child_forked_while_a_thread_joins_can_join(run_program: Program, read_back: ReadBack) -> None:
    """It does so itself: the thread is not in it."""
    run_program(
        """
import rollscope.recorder.session as session
os.environ['ROLLSCOPE_RUN_ID'] = 'abc'
join, under_way, over = session._join, threading.Event(), threading.Event()
def slow():
    under_way.set()
    over.wait()
    return join()
R.session.on_join(slow)
thread = threading.Thread(target=R.current)
thread.start()
under_way.wait()
R.session.on_join(join)
child = os.fork()
if child == 0:
    R.current().event('from the child', {})
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
over.set()
thread.join()
R.current().event('from the parent', {})
"""
    )
    assert sorted(names(read_back())) == ["from the child", "from the parent"]


def test_a_full_limit_refuses_tokens_first_and_run_records_never(run_program: Program, read_back: ReadBack) -> None:
    """With no shipper and little room the program runs on; what was refused is counted in the journal."""
    run_program(
        """
r = R.init('p', 'e', circumstances=False, journal_limit='4MiB')
for n in range(2000):
    r.tokens(b't' * 16, b's' * 8, role='output', ids=list(range(2000)))
    r.start_span('s', attributes={'pad': 'x' * 1000}).end()
    if n % 100 == 0:
        r.event('step', {'n': n}, priority=0)
"""
    )
    (folder,) = list_logs(Path("rollscope/journal/producers"))
    assert names(read_back()).count("step") == 20
    assert sum(LogReader(folder).counters().dropped.values()) > 0
    assert sum(path.stat().st_blocks * 512 for path in folder.iterdir()) < 6 << 20
