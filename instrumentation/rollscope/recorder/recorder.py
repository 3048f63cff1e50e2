"""The recorder of one process in one run: every public call ends in one of its writes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from opentelemetry import trace
from opentelemetry.trace import SpanContext

from ..interruption import pass_on
from ..records import SPAN_PARTS
from . import gate
from ._compat import current_any_span, own_span
from .encoding import REFUSED, Row, encode
from .links import links_of
from .protocols import SYSTEM_CLOCK, Clock
from .span import Span
from .tokens import TokenValues, token_rows
from .writer import JournalWriter, OpenJournal

if TYPE_CHECKING:
    from ..identity import Identity
    from ..ids import Ids
    from ..journal import Place
    from ..settings import Settings

__all__ = ["Recorder"]


class Recorder(JournalWriter):
    """Records spans, events and tokens of one process in one run."""

    def __init__(self, identity: Identity, settings: Settings, ids: Ids, open_journal: OpenJournal, *, clock: Clock = SYSTEM_CLOCK) -> None:
        super().__init__(identity, settings, ids, open_journal, clock)
        self._take_span_id, self._take_trace_id = ids.take_span_id, ids.take_trace_id
        self._most_attributes = settings.limits.attributes
        self._tallies: dict[bytes, itertools.count[int]] = {}

    # -- spans ----------------------------------------------------------------------------------------------------

    def start_span(
        self,
        name: str,
        kind: int = 1,
        attributes: Mapping[str, Any] | None = None,
        parent: trace.Span | SpanContext | None = None,
        root: bool = False,
        trace_id: bytes | None = None,
        links: Iterable[Any] | None = None,
        scope: str = "rollscope",
        identity: Mapping[str, object] | None = None,
        counted: bool = False,
        start: int | None = None,
    ) -> Span:
        """Start a span under `parent`, or the current span, or as a root.

        kind: OTLP span kind, 1 internal to 5 consumer. trace_id: 16 bytes, for a root. links: spans, span contexts, OpenTelemetry
        links or rows. identity: attributes for this span and all below it, joined to the parent's. counted: count the records of this trace
        (see `record_count`). start: Unix ns. The values of `attributes` are read now.
        """
        # In one piece: a function for each part would cost a tenth more.
        try:
            # Whose child, and what it inherits.
            above = current_any_span() if parent is None and not root else parent
            parent_id = trajectory = tally = None
            if type(above) is Span:
                trace_id, parent_id = above.trace_id, above.span_id
            elif above is not None:
                above, trace_id, parent_id = _foreign_parent(above, trace_id)
            if above is not None:
                identity = above.identity if identity is None else {**(above.identity or {}), **identity}
                trajectory, tally = above.trajectory, above.tally
            # Under which ids, since when.
            try:
                trace_id = trace_id or self._take_trace_id()
                span_id = self._take_span_id()
            except IndexError:
                trace_id = trace_id or self.ids.trace_id()
                span_id = self.ids.span_id()
            if counted:
                tally = self._tallies[trace_id] = itertools.count(1)
            now, tick = self.now(), self.tick()
            if start is not None and isinstance(start, int):
                now, tick = start, tick - now + start
            # With which name and attributes.
            values = attributes if type(attributes) is dict else dict(attributes or ())
            if not self.known.issuperset(values):
                values = self._learn(values)
            room = self._most_attributes - len(values)
            if room < 0:
                values = dict(itertools.islice(values.items(), self._most_attributes))
            if identity is not None:
                values = {**values, **identity}
            if type(name) is not str or name not in self.known:
                name = self._learn_name(name)
            # Encoded at once.
            rows = None if links is None else links_of(links)
            row = ("s", trace_id, span_id, parent_id, name, kind, now, values, rows, scope)
            try:
                begun = encode(row)
            except REFUSED as error:
                pass_on(error)
                begun = self.encoder.refused(row)
            if len(begun) > self.look_above:
                begun = self.encoder.large(row, begun)
            span = Span(self, name, trace_id, span_id, now, tick, identity, trajectory, tally, SPAN_PARTS + begun, room)
            if room < 0:
                span.drop(-room)
            return span
        except Exception as error:  # noqa: BLE001  # the gate of all span creation
            gate.swallow(error, "span")
            return Span(self, "", self.ids.trace_id(), self.ids.span_id(), self.now(), self.tick())

    def record_count(self, trace_id: bytes) -> int:
        """Close the tally of a counted trace and return its records, the one about to be written included."""
        tally = self._tallies.pop(trace_id, None)
        return 1 if tally is None else next(tally)

    # -- events and tokens ----------------------------------------------------------------------------------------

    def event(
        self,
        name: str,
        attributes: Mapping[str, Any],
        *,
        priority: int = 1,
        trace_id: bytes | None = None,
        span_id: bytes | None = None,
        body: str | None = None,
        severity: int = 9,
        time: int | None = None,
        scope: str = "rollscope",
    ) -> int:
        """Record an OTLP log record: an event of the vocabulary, or a log line (empty name). time: Unix ns.

        Returns its number within the producer, -1 when it was refused.
        """
        try:
            when = self.now() if time is None else time
            if type(name) is not str or not (body is None or type(body) is str):
                clean = self.sanitiser()
                name, body = clean.name(name), None if body is None else clean.said(body)
            number = self.write(("v", name, when, self.named(attributes), trace_id, span_id, body, severity, scope), priority)
            self._tally(trace_id, number)
            return number
        except Exception as error:  # noqa: BLE001  # a foreign map may raise anything when it is read
            gate.swallow(error, "event")
            return -1

    def tokens(
        self,
        trace_id: bytes,
        span_id: bytes,
        *,
        role: str,
        ids: TokenValues,
        kept: int = 0,
        lead: TokenValues = (),
        logprobs: TokenValues | None = None,
        loss_mask: TokenValues | None = None,
        advantages: TokenValues | None = None,
        tokenizer: str | None = None,
        attributes: Mapping[str, Any] | None = None,
        time: int | None = None,
    ) -> None:
        """Record one segment of a token stream; the arguments are the fields of `rollscope.records.Tokens`.

        Arrays have the shape `(tokens,)`: lists, numpy arrays, CPU torch tensors, or bytes packed as `Tokens` says. A segment of more than
        `limits.token_segment` ids becomes several records.
        """
        try:
            rows = token_rows(
                (trace_id, span_id, self.now() if time is None else time, role),
                kept, lead, ids, (logprobs, loss_mask, advantages), tokenizer, attributes or {}, self.limits.token_segment,
            )  # fmt: skip
            for row in rows:
                self._tally(trace_id, self.write(row, 2))
        except Exception as error:  # noqa: BLE001  # an array of a foreign kind may raise anything when it is read
            gate.swallow(error, "tokens")

    def otlp(self, signal: str, payload: bytes) -> None:
        """Record a foreign signal that came as an encoded OTLP request."""
        try:
            self.append(encode(("o", signal, payload)), 1)
        except Exception as error:  # noqa: BLE001  # the gate of this call
            gate.swallow(error, "otlp", "dropped")

    def write_in_trace(self, row: Row, trace_id: bytes, lane: int = 1, over: Place | None = None) -> None:
        """Append one row, the end of `over`, and count it in its trace, if that one is counted."""
        self._tally(trace_id, self.write(row, lane, over))

    def after_fork(self) -> None:
        """Become another producer in a forked child; trajectories counted so far are the parent's."""
        super().after_fork()
        self._tallies = {}

    def _tally(self, trace_id: bytes | None, number: int) -> None:
        if number > 0 and trace_id is not None and (tally := self._tallies.get(trace_id)) is not None:
            next(tally)


def _foreign_parent(parent: trace.Span | SpanContext, trace_id: bytes | None) -> tuple[Span | None, bytes | None, bytes | None]:
    """Return our own span around a foreign parent, which hands down what it carries past that one; the trace's and the parent's ids."""
    context = parent if isinstance(parent, SpanContext) else parent.get_span_context()
    if context.is_valid:
        trace_id, parent_id = context.trace_id.to_bytes(16, "big"), context.span_id.to_bytes(8, "big")
    else:
        parent_id = None
    own = own_span()
    return own if type(own) is Span and own.trace_id == trace_id else None, trace_id, parent_id
