"""*pipeline health*: agents, gateways, bridge, backends."""

from __future__ import annotations

from rollscope import vocabulary as v
from rollscope.vocabulary.prometheus import label_name

from .board import Board, Chart, Query, Row
from .promql import RATE, REASON, RUN, RUN_LABEL, RUNS, legend, one, select

BACKEND, STATE, CHILD, SIGNAL = map(label_name, (v.BACKEND_NAME, v.RECORD_STATE, v.BRIDGE_CHILD, v.BRIDGE_SIGNAL))
NONE_YET = "the counter is born with the first failure"


def _flow(title: str, word: str, by: str, *, about: str = "", optional: str = "") -> Chart:
    queries = tuple(
        Query(f"sum by (job, {by}) (rate(otelcol_{word}_{items}[{RATE}]))", f"{legend('job', by)} {items.replace('_', ' ')}", optional)
        for items in ("log_records", "spans", "metric_points")
    )
    return Chart(title, queries, about=about, width=12)


def _rate(title: str, metric: str, label: str, *, unit: str = "", optional: str = "") -> Chart:
    return Chart(title, one(f"sum by ({label}) (rate({select(metric)}[{RATE}]))", label, optional=optional), unit=unit)


ANSWERS = Row(
    "Who answers",
    (
        Chart("Targets", one('up{job=~"rollscope-.*"}', "job", "instance"), "stat", width=12),
        Chart("Children of the bridge", one(select(v.METRIC_BRIDGE_CHILD), CHILD), "stat", width=12),
    ),
)
COMPLETE = Row(
    "Is everything there",
    (
        Chart(
            "Records",
            one(select(v.METRIC_BRIDGE_RECORDS, RUN), RUN_LABEL, STATE),
            about="Produced and received meet when nothing is on its way; missing that stays is lost or cut off.",
            width=12,
        ),
        Chart("Records by backend", one(select(v.METRIC_BRIDGE_BACKEND, RUN), RUN_LABEL, BACKEND, STATE), width=12),
    ),
)
COLLECTORS = Row(
    "Collectors",
    (
        _flow("Accepted a second", "receiver_accepted", "receiver"),
        _flow("Sent a second", "exporter_sent", "exporter"),
        _flow("Refused a second", "receiver_refused", "receiver", about="Senders try again: nothing is lost yet."),
        _flow("Given up a second", "exporter_send_failed", "exporter", optional=NONE_YET),
        _flow("Not queued, a second", "exporter_enqueue_failed", "exporter", optional=NONE_YET),
        Chart("Queues, how full", one("rollscope:queue:ratio", "job", "exporter"), unit="percentunit", width=12),
        Chart(
            "Queues",
            one("otelcol_exporter_queue_size", "job", "exporter"),
            unit="bytes",
            about="Of prometheus_remote_write/spans: requests.",
        ),
        Chart("Memory", one("otelcol_process_memory_rss", "job", "instance"), unit="bytes"),
        Chart("Processor time", one(f"rate(otelcol_process_cpu_seconds[{RATE}])", "job", "instance"), unit="percentunit"),
    ),
)
BRIDGE = Row(
    "Bridge",
    (
        Chart("Inbox", one(select(v.METRIC_BRIDGE_INBOX), "__name__") + one(select(v.METRIC_BRIDGE_INBOX_LIMIT), "__name__"), unit="bytes"),
        _rate("Requests a second", v.METRIC_BRIDGE_REQUESTS, SIGNAL),
        _rate("Bytes a second", v.METRIC_BRIDGE_RECEIVED, "instance", unit="Bps"),
        _rate("Refused a second", v.METRIC_BRIDGE_REFUSED, REASON, optional=NONE_YET),
        Chart("Could not be read", one(select(v.METRIC_BRIDGE_REJECTED), REASON, optional=NONE_YET)),
        Chart("Restarts of children", one(select(v.METRIC_BRIDGE_RESTARTS), CHILD)),
    ),
)

PIPELINE = Board(
    "pipeline-health",
    "rollscope / pipeline health",
    "From agents over gateways to the bridge and its backends.",
    (RUNS,),
    (ANSWERS, COMPLETE, COLLECTORS, BRIDGE),
)
