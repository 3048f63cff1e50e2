"""Log records: each event of the vocabulary to where it belongs, everything else on as a log line."""

from __future__ import annotations

import logging
import sqlite3
from collections import Counter
from collections.abc import Callable

from rollscope import vocabulary as v
from rollscope.redact import MASKED_ID, Withheld
from rollscope.tokens import unpack_ids

from ..assemble import Item
from ..decode import Group, Log, integer
from . import readings, texts
from .artifacts import Artifacts
from .images import Images
from .outbox import Outbox
from .readings import UnusableError
from .redaction import Cleaner
from .resources import Source
from .runs import Runs
from .seen import Seen, log_key
from .traces import Traces

logger = logging.getLogger("rollscope.pipeline")

Handler = Callable[[Log, Source, int], "str | None"]
"""(log, source, now) → the trace id under which the record was added, if it was."""


class Events:
    """Takes the log records of one resource after the other."""

    def __init__(
        self,
        outbox: Outbox,
        runs: Runs,
        traces: Traces,
        artifacts: Artifacts,
        images: Images,
        seen: Seen,
        tokens: texts.Texts,
        cleaner: Cleaner | None,
    ) -> None:
        self._outbox = outbox
        self._runs = runs
        self._traces = traces
        self._artifacts = artifacts
        self._images = images
        self._seen = seen
        self._texts = tokens
        self._cleaner = cleaner
        self._handlers: dict[str, Handler] = {
            v.EVENT_STEP_METRICS: self._metrics,
            v.EVENT_TOKENS: self._tokens,
            v.EVENT_REWARD: self._reward,
            v.EVENT_FACTS: self._facts,
            v.EVENT_TABLE: self._table,
            v.EVENT_ARTIFACT: self._artifact,
            v.EVENT_HISTOGRAM: self._histogram,
            v.EVENT_IMAGE: self._image,
            v.EVENT_RUN_STARTED: self._run_started,
            v.EVENT_RUN_FINISHED: self._run_finished,
        }

    def take(self, group: Group, source: Source, now: int) -> None:
        """Take the log records of `group`, each once."""
        occurrences: Counter[tuple[object, ...]] = Counter()
        for log in group.logs:
            if log.name == v.EVENT_HEARTBEAT:
                self._heartbeat(log, source, now)
            elif self._is_new(log, group, source, occurrences, now):
                self._handle(log, source, now)

    def _is_new(self, log: Log, group: Group, source: Source, occurrences: Counter[tuple[object, ...]], now: int) -> bool:
        if log.sequence and source.producer:
            return source.producer.take(log.sequence)
        content = (log.name, log.time, log.severity, log.body, log.trace_id, log.span_id, repr(log.attributes))
        occurrences[content] += 1
        if not self._seen.add(log_key(source.run, group.key, content, occurrences[content]), now):
            return False
        self._runs.count_unnumbered(source.run)
        return True

    def _handle(self, log: Log, source: Source, now: int) -> None:
        joined: str | None = None
        try:
            joined = self._handlers.get(log.name, self._log_line)(log, source, now)
        except (UnusableError, Withheld) as error:
            source.set_aside(log.sequence, str(error))
        except (sqlite3.Error, MemoryError):
            raise
        except Exception as error:
            # Its neighbours in the request are none the worse for it.
            logger.exception("an event %s of %s cannot be translated", log.name, source.run)
            source.set_aside(log.sequence, f"{log.name or 'log line'} that cannot be translated: {type(error).__name__}")
        if log.trace_id and log.sequence and joined != log.trace_id:
            # It went its own way and is still one of the records its trace waits for.
            self._traces.count(log.trace_id, source, log.sequence, now)

    def _heartbeat(self, log: Log, source: Source, now: int) -> None:
        if producer := source.producer:
            producer.heartbeat(log.time, log.attributes, now)
            self._keep_open(log.attributes.get(v.OPEN_SPANS), now)
            self._look_for_lost_driver(source, now)

    def _look_for_lost_driver(self, source: Source, now: int) -> None:
        if (producer := source.producer) and producer.state.final and producer.state.abnormal:
            self._runs.lost_driver(source.run, producer.id, now)

    def _keep_open(self, open_spans: object, now: int) -> None:
        for span in open_spans if isinstance(open_spans, list) else ():
            if isinstance(span, dict) and isinstance(trace_id := span.get("trace_id"), str):
                self._traces.still_open(trace_id, now)

    def _run_started(self, log: Log, source: Source, now: int) -> None:
        record = readings.run_started(log, source.run, source.attributes)
        if not self._runs.start(record, source.name, source.counted(log.sequence), told=v.RUN_BACKENDS in log.attributes):
            raise UnusableError("start of an attempt older than the present one")
        self._look_for_lost_driver(source, now)  # whose last words may have overtaken its first on the way through Collectors

    def _run_finished(self, log: Log, source: Source, now: int) -> None:
        attempt = integer(source.attributes.get(v.RUN_ATTEMPT)) or 0
        record = readings.run_finished(log, source.run)
        if not self._runs.end(source.run, record, source.counted(log.sequence), now, attempt):
            raise UnusableError("second end of a run, or end of an attempt older than the present one")

    def _metrics(self, log: Log, source: Source, now: int) -> None:
        self._outbox.add(readings.metrics(log, source.run, source.name), source.counted(log.sequence))

    def _table(self, log: Log, source: Source, now: int) -> None:
        self._outbox.add(readings.table(log, source.run), source.counted(log.sequence))

    def _artifact(self, log: Log, source: Source, now: int) -> None:
        self._artifacts.add(log, source, now)

    def _histogram(self, log: Log, source: Source, now: int) -> None:
        self._outbox.add(readings.histogram(log, source.run), source.counted(log.sequence))

    def _image(self, log: Log, source: Source, now: int) -> None:
        self._images.add(log, source, now)

    def _log_line(self, log: Log, source: Source, now: int) -> None:
        self._outbox.add(readings.log_line(log, source.run, source.name), source.counted(log.sequence))

    def _tokens(self, log: Log, source: Source, now: int) -> str:
        segment = texts.segment(log)
        if segment.text is None and MASKED_ID not in unpack_ids(segment.ids):
            segment = self._texts.complete(segment, log.attributes.get(v.TOKENS_LEAD))
        if self._cleaner:
            segment = self._cleaner.segment(segment)
        return self._join(log, source, segment, now)

    def _reward(self, log: Log, source: Source, now: int) -> str:
        return self._join(log, source, readings.reward(log), now)

    def _facts(self, log: Log, source: Source, now: int) -> str:
        return self._join(log, source, readings.fact(log), now)

    def _join(self, log: Log, source: Source, item: Item, now: int) -> str:
        trajectory = readings.trajectory_of(log)
        self._traces.add(trajectory, source, log.sequence, item, now)
        return trajectory
