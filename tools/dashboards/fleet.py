"""*fleet*: processes, ranks, hosts and their clocks."""

from __future__ import annotations

from rollscope import vocabulary as v
from rollscope.vocabulary.prometheus import label_name

from .board import Board, Chart, Query, Row
from .promql import HOST, RANK, RATE, REASON, ROLE, RUN, RUN_LABEL, RUNS, one, rate, select, total

PROCESS = (HOST, ROLE, RANK)
BY = ", ".join(PROCESS)
ALIVE = select(v.METRIC_ALIVE, RUN)


def _now(title: str, expr: str, *labels: str, unit: str = "", about: str = "") -> Chart:
    return Chart(title, one(expr, *labels), "stat", unit, about, 6)


PROCESSES = Row(
    "Processes",
    (
        _now("Alive", total(f"{RUN_LABEL}, {ROLE}", v.METRIC_ALIVE), RUN_LABEL, ROLE),
        _now("Hosts", f"count(count by ({HOST}) ({ALIVE}))"),
        _now(
            "Ranks that never spoke",
            select(v.METRIC_BRIDGE_UNHEARD, RUN),
            RUN_LABEL,
            about="Ranks below the world size from which the bridge has nothing; the ledger names them.",
        ),
        _now("Longest silence", f"max(time() - timestamp({ALIVE}))", unit="s", about="Processes that ended are silent too."),
        Chart("Records", (Query(total(f"{RUN_LABEL}, {BY}, instance", v.METRIC_RECORDS)),), "table", width=12),
        Chart("Records a second", one(rate(BY, v.METRIC_RECORDS), *PROCESS), width=12),
    ),
)
HANGING = Row(
    "What hangs",
    (
        Chart("Open spans", one(total(BY, v.METRIC_OPEN_SPANS), *PROCESS), width=12),
        Chart(
            "Age of the oldest open span",
            one(f"max by ({BY}) ({select(v.METRIC_OPEN_AGE, RUN)})", *PROCESS),
            unit="s",
            about="A rank whose line rises alone is the one that the others wait for.",
            width=12,
        ),
    ),
)
CLOCKS = Row(
    "Hosts and clocks",
    (
        Chart(
            "Clock by the gateway",
            one("rollscope:clock_offset:seconds", HOST),
            unit="s",
            about="The gateway's clock less the host's, by the fastest delivery of five minutes. More than 1 s is too much.",
        ),
        Chart(
            "Clock by the ledger",
            one(select(v.METRIC_BRIDGE_CLOCK, RUN), RUN_LABEL, HOST),
            unit="s",
            about="The bridge's clock less the host's, as the ledger of the run has it: also where hosts send without a gateway.",
        ),
        Chart("Delay of heartbeats", one(f"max by ({HOST}) ({select(v.METRIC_DELAY, RUN)})", HOST), unit="s"),
    ),
)
JOURNALS = Row(
    "Journals",
    (
        Chart("Waiting in the journal", one(total(BY, v.METRIC_SPOOL), *PROCESS), unit="bytes", width=12),
        Chart(
            "Lost",
            one(total(f"{BY}, {REASON}", v.METRIC_DROPPED), *PROCESS, REASON, optional="a process that lost nothing has no such series"),
            width=12,
        ),
    ),
)


def _host(title: str, expr: str, *labels: str, unit: str, optional: str = "") -> Chart:
    return Chart(title, one(expr, HOST, *labels, optional=optional), unit=unit)


def _used(metric: str, *labels: str) -> str:
    return f"max by ({', '.join((HOST, *labels))}) ({select(metric)})"


def _moved(metric: str, direction: str) -> str:
    return f"sum by ({HOST}, {direction}) (rate({select(metric)}[{RATE}]))"


MODE, DISK, NETWORK, GPU = map(label_name, (v.CPU_MODE, v.DISK_IO_DIRECTION, v.NETWORK_IO_DIRECTION, v.HW_ID))
NO_GPU = "a host without an NVIDIA GPU measures none"
HOSTS = Row(
    "Hosts at work",
    (
        _host("Processors", _used(v.METRIC_CPU_UTILIZATION, MODE), MODE, unit="percentunit"),
        _host("Memory", _used(v.METRIC_MEMORY_UTILIZATION), unit="percentunit"),
        _host("Disk of the node folder", _used(v.METRIC_FILESYSTEM_UTILIZATION), unit="percentunit"),
        _host("Disks", _moved(v.METRIC_DISK_IO, DISK), DISK, unit="Bps"),
        _host("Network", _moved(v.METRIC_NETWORK_IO, NETWORK), NETWORK, unit="Bps"),
        _host("GPUs", _used(v.METRIC_GPU_UTILIZATION, GPU), GPU, unit="percentunit", optional=NO_GPU),
        _host("GPU memory", _used(v.METRIC_GPU_MEMORY_UTILIZATION, GPU), GPU, unit="percentunit", optional=NO_GPU),
        _host("GPU power", _used(v.METRIC_POWER, GPU), GPU, unit="watt", optional=NO_GPU),
        _host("GPU temperature", _used(v.METRIC_TEMPERATURE, GPU), GPU, unit="celsius", optional=NO_GPU),
    ),
)

FLEET = Board(
    "fleet",
    "rollscope / fleet",
    "What each process says of itself every few seconds.",
    (RUNS,),
    (PROCESSES, HANGING, CLOCKS, HOSTS, JOURNALS),
)
