"""What the bridge says about itself, in the format that Prometheus reads."""

from __future__ import annotations

import subprocess
from typing import Any

from rollscope_exporters.ledger import Ledger, RunLedger
from rollscope_exporters.ledger.model import BackendLine, HostLine, SetAsideLine
from rollscope_exporters.supervisor._metrics_page import metrics_page
from tests.components import program

STATUS: dict[str, Any] = {
    "inbox": {"pending_bytes": 5, "limit_bytes": 100},
    "received": {"requests": {"logs": 3, "traces": 2}, "bytes": 77, "refused": {"full": 1}},
    "children": [{"name": "pipeline", "pid": 12, "restarts": 0}, {"name": "mlflow", "pid": None, "restarts": 4}],
}


def run(number: int, **changes: Any) -> RunLedger:
    """A finished run."""
    fields = {"run": f"r{number}", "name": f"run {number}", "project": "p", "status": "finished", "verdict": "complete", **changes}
    return RunLedger(**fields)


def test_every_number_has_its_labels() -> None:
    """Counts come with the run, the backend and the state they are of."""
    backend = BackendLine(backend="mlflow", delivered=9, pending=1, set_aside=[SetAsideLine("span", "odd", 2)])
    lines = metrics_page(STATUS, Ledger(runs=[run(1, produced=12, missing=2, backends=[backend], unheard=["rank 3"])])).splitlines()
    labels = 'rl_run_id="r1",rl_run_name="run 1",rl_project_name="p"'
    for line in (
        "rl_bridge_inbox_pending{} 5",
        'rl_bridge_requests{rl_bridge_signal="logs"} 3',
        'rl_bridge_refused{rl_telemetry_reason="full"} 1',
        'rl_bridge_child_up{rl_bridge_child="mlflow"} 0',
        'rl_bridge_child_restarts{rl_bridge_child="mlflow"} 4',
        f'rl_bridge_records{{{labels},rl_record_state="missing"}} 2',
        f'rl_bridge_backend_records{{{labels},rl_backend_name="mlflow",rl_record_state="set_aside"}} 2',
        f"rl_bridge_ranks_unheard{{{labels}}} 1",
    ):
        assert line in lines


def test_clocks_of_runs_under_way() -> None:
    """Each host of a run has its offset, by the ledger's measure; one without a heartbeat has none, nor has a run that is over."""
    hosts = [HostLine(host="n1", producers=1, clock_offset=-3.5), HostLine(host="n2", producers=1)]
    runs = [run(1, status="running", verdict="delivering", hosts=hosts), run(2, hosts=hosts)]
    found = [line for line in metrics_page(STATUS, Ledger(runs=runs)).splitlines() if line.startswith("rl_bridge_clock_offset")]
    assert found == ['rl_bridge_clock_offset{rl_run_id="r1",rl_run_name="run 1",rl_project_name="p",host_name="n1"} -3.5']


def test_runs_that_are_done_with_are_bounded() -> None:
    """Of complete runs the latest twenty are shown, of others all."""
    runs = [run(0, verdict="incomplete: 1 missing"), run(1, status="running", verdict="delivering"), *(run(n) for n in range(2, 60))]
    page = metrics_page(STATUS, Ledger(runs=runs))
    shown = [n for n in range(60) if f'rl_run_id="r{n}"' in page]
    assert shown == [0, 1, *range(40, 60)]


def test_odd_names_stay_readable() -> None:
    """Quotes, backslashes and line ends in a run's name are escaped, and Prometheus' own check takes the page."""
    page = metrics_page(STATUS, Ledger(runs=[run(1, name='a"b\\c\nd', produced=1)]))
    assert r'rl_run_name="a\"b\\c\nd"' in page
    promtool = program("promtool", "apt-get install prometheus")
    done = subprocess.run([promtool, "check", "metrics"], input=page, capture_output=True, text=True)
    assert "error while linting" not in done.stderr + done.stdout
    assert done.returncode in (0, 3)  # 3: remarks on style, such as counters without `_total`


def test_before_there_is_a_store_the_bridge_alone_is_shown() -> None:
    """A bridge that has not processed anything yet has numbers, and none of a run."""
    page = metrics_page(STATUS, None)
    assert "rl_bridge_inbox_limit{} 100" in page
    assert "rl_run_id" not in page
