"""`/metrics`: status and ledger in Prometheus' text format, a few series a run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rollscope import vocabulary as v
from rollscope.vocabulary.prometheus import label_name, metric_name

from ..ledger import Ledger
from ..ledger.model import BackendLine, RunLedger

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_LATEST = 20
"""Runs that are done with and still shown; those under way are shown in any case."""
_OVER = frozenset({"finished", "failed", "aborted"})

Sample = tuple[str, Mapping[str, str], float]
"""Metric, attributes, value; names of the vocabulary."""


def metrics_page(status: Mapping[str, Any], ledger: Ledger | None) -> str:
    """Return the page; `ledger` is None while there is no store."""
    samples = [*_of_bridge(status), *(_of_ledger(ledger) if ledger else ())]
    families: dict[str, list[Sample]] = {}
    for sample in samples:
        families.setdefault(sample[0], []).append(sample)
    return "".join(line for name, family in families.items() for line in _family(name, family))


def _of_bridge(status: Mapping[str, Any]) -> Iterator[Sample]:
    received = status["received"]
    yield v.METRIC_BRIDGE_INBOX, {}, status["inbox"]["pending_bytes"]
    yield v.METRIC_BRIDGE_INBOX_LIMIT, {}, status["inbox"]["limit_bytes"]
    yield v.METRIC_BRIDGE_RECEIVED, {}, received["bytes"]
    yield from _counted(v.METRIC_BRIDGE_REQUESTS, v.BRIDGE_SIGNAL, received["requests"])
    yield from _counted(v.METRIC_BRIDGE_REFUSED, v.LOSS_REASON, received["refused"])
    for child in status["children"]:
        who = {v.BRIDGE_CHILD: child["name"]}
        yield v.METRIC_BRIDGE_CHILD, who, float(child["pid"] is not None)
        yield v.METRIC_BRIDGE_RESTARTS, who, child["restarts"]


def _of_ledger(ledger: Ledger) -> Iterator[Sample]:
    yield from _counted(v.METRIC_BRIDGE_REJECTED, v.LOSS_REASON, ledger.rejected)
    over = [run for run in ledger.runs if run.status in _OVER and run.verdict == "complete"]
    hidden = {run.run for run in over[:-_LATEST]}
    for run in ledger.runs:
        if run.run not in hidden:
            yield from _of_run(run)


def _of_run(run: RunLedger) -> Iterator[Sample]:
    who = {v.RUN_ID: run.run, v.RUN_NAME: run.name, v.PROJECT_NAME: run.project}
    states = {
        "produced": run.produced, "received": run.received, "missing": run.missing, "duplicate": run.duplicate,
        "dropped": run.dropped, "waiting": run.waiting, "unnumbered": run.unnumbered,
    }  # fmt: skip
    yield from _counted(v.METRIC_BRIDGE_RECORDS, v.RECORD_STATE, states, who)
    yield v.METRIC_BRIDGE_UNHEARD, who, len(run.unheard)
    if run.status not in _OVER:  # what was measured last would stand there, and alarm, for good
        yield from (
            (v.METRIC_BRIDGE_CLOCK, who | {v.HOST_NAME: line.host}, line.clock_offset)
            for line in run.hosts
            if line.clock_offset is not None
        )
    for backend in run.backends:
        yield from _counted(v.METRIC_BRIDGE_BACKEND, v.RECORD_STATE, _states(backend), who | {v.BACKEND_NAME: backend.backend})


def _states(backend: BackendLine) -> dict[str, int]:
    return {"delivered": backend.delivered, "pending": backend.pending, "set_aside": sum(line.records for line in backend.set_aside)}


def _counted(name: str, key: str, counts: Mapping[str, int], who: Mapping[str, str] | None = None) -> Iterator[Sample]:
    for word, count in counts.items():
        yield name, {**(who or {}), key: word}, count


def _family(name: str, samples: Iterable[Sample]) -> Iterator[str]:
    entry = v.REGISTRY["metric", name]
    plain = metric_name(name)
    yield f"# HELP {plain} {_escaped(entry.meaning)}\n# TYPE {plain} {entry.type}\n"
    for _, attributes, value in samples:
        labels = ",".join(f'{label_name(key)}="{_escaped(text)}"' for key, text in attributes.items())
        yield f"{plain}{{{labels}}} {value:.17g}\n" if math.isfinite(value) else ""


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
