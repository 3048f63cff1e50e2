"""Names of spans, events and metrics."""

from __future__ import annotations

from functools import partial

from ._registry import define

_span = partial(define, "span", type="span")
_event = partial(define, "event", type="event")
_metric = partial(define, "metric")
_scope = partial(define, "scope", type="scope")

# -- spans --------------------------------------------------------------------------------------------------------
SPAN_STEP = _span("rl.loop", meaning="one optimiser-visible step of the driver", proposal="A `rl.loop`")
PHASES: tuple[str, ...] = (
    "rollout", "reward", "old_log_prob", "ref_log_prob", "values", "advantage", "update_critic", "update_actor",
    "weight_sync", "checkpoint", "validation",
)  # fmt: skip
_PROPOSED = {"rollout": "rl.sample", "reward": "rl.reward", "update_actor": "rl.train", "weight_sync": "rl.sync"}
PHASE_SPANS: dict[str, str] = {
    phase: _span(
        _PROPOSED.get(phase, f"rl.{phase}"),
        meaning=f"phase `{phase}` of a step",
        proposal=f"A `{_PROPOSED[phase]}`" if phase in _PROPOSED else "",
    )
    for phase in PHASES
}


def phase_span(phase: str) -> str:
    """Return the span name of a phase, one of `PHASES` or a word of the user's own."""
    return PHASE_SPANS.get(phase) or f"rl.{phase}"


SPAN_TURN = _span("rl.turn", meaning="one turn of a trajectory")
SPAN_INVOKE_AGENT = _span("invoke_agent", meaning="root of a trajectory: `invoke_agent {agent}`")
SPAN_CHAT = _span("chat", meaning="one generation: `chat {model}`")
SPAN_EXECUTE_TOOL = _span("execute_tool", meaning="one tool call: `execute_tool {tool}`")

# -- events (OTLP log records with an event name) -----------------------------------------------------------------
EVENT_RUN_STARTED = _event("rl.run.started", meaning="a driver began or resumed the run; carries config, tags, circumstances")
EVENT_RUN_FINISHED = _event("rl.run.finished", meaning="the driver ended the run")
EVENT_STEP_METRICS = _event("rl.step.metrics", meaning="all scalars of one step")
EVENT_TOKENS = _event("rl.trajectory.tokens", meaning="one segment of token ids with what belongs to it")
EVENT_REWARD = _event("rl.reward", meaning="a reward given to a trajectory, at once or later")
EVENT_FACTS = _event("rl.trajectory.facts", meaning="facts about a trajectory known after it ended")
EVENT_TABLE = _event("rl.table", meaning="rows of a table")
EVENT_ARTIFACT = _event("rl.artifact", meaning="a file of the run, whole, in pieces or by reference")
EVENT_HISTOGRAM = _event("rl.histogram", meaning="a distribution of values at one step, binned at its source")
EVENT_IMAGE = _event("rl.image", meaning="an image, whole, in pieces, or one that was sent before")
EVENT_LOG = _event("rl.log", meaning="a log line of the program")
EVENT_NOTE = _event("rl.event", meaning="an event of the user's own, named in the body")
EVENT_CHOICE = _event("gen_ai.choice", meaning="a produced message, as conventions up to 1.36 had it; read only")
EVENT_MESSAGES: dict[str, str] = {
    _event(f"gen_ai.{role}.message", meaning=f"a message of role `{role}`, as conventions up to 1.36 had it; read only"): role
    for role in ("system", "user", "assistant", "tool")
}
"""Event name → role."""
EVENT_HEARTBEAT = _event("rl.producer.heartbeat", meaning="the shipper about a producer: counters, clock, open spans")

# -- metrics ------------------------------------------------------------------------------------------------------
METRIC_STEP_SCALAR = _metric("rl.step.scalar", "gauge", meaning="a scalar of a step, with the step's own time; attribute `rl.metric.name`")
METRIC_STEP_INDEX = _metric("rl.step.current", "gauge", meaning="the step whose scalars carry the same time")
METRIC_RECORDS = _metric("rl.telemetry.records", "counter", meaning="records the producer has written", unit="{record}")
METRIC_DROPPED = _metric(
    "rl.telemetry.dropped",
    "counter",
    meaning="records lost by the producer or its shipper; attribute `rl.telemetry.reason`",
    unit="{record}",
)
METRIC_SPOOL = _metric("rl.telemetry.spool.usage", "updowncounter", meaning="bytes waiting in the journal", unit="By")
METRIC_OPEN_SPANS = _metric("rl.telemetry.open_spans", "gauge", meaning="spans the producer has open", unit="{span}")
METRIC_OPEN_AGE = _metric("rl.telemetry.open_spans.age", "gauge", meaning="age of the oldest of them", unit="s")
METRIC_DELAY = _metric(
    "rl.telemetry.delay",
    "gauge",
    meaning="the gateway's clock less the node's when a heartbeat arrives: delivery plus the difference of the clocks",
    unit="s",
)
METRIC_ALIVE = _metric("rl.telemetry.alive", "gauge", meaning="1 while the process lives, 0 in the last point of one that ended")
METRIC_SPAN_CALLS = _metric("rl.spans.calls", "counter", meaning="spans that ended, counted by the gateway", unit="{span}")
METRIC_SPAN_DURATION = _metric("rl.spans.duration", "histogram", meaning="durations of spans, made by the gateway", unit="s")
METRIC_BRIDGE_INBOX = _metric("rl.bridge.inbox.pending", "gauge", meaning="bytes accepted and not yet processed", unit="By")
METRIC_BRIDGE_INBOX_LIMIT = _metric("rl.bridge.inbox.limit", "gauge", meaning="bytes at which the bridge refuses", unit="By")
METRIC_BRIDGE_REQUESTS = _metric(
    "rl.bridge.requests", "counter", meaning="requests accepted; attribute `rl.bridge.signal`", unit="{request}"
)
METRIC_BRIDGE_RECEIVED = _metric("rl.bridge.received", "counter", meaning="bytes of accepted requests", unit="By")
METRIC_BRIDGE_REFUSED = _metric(
    "rl.bridge.refused", "counter", meaning="requests refused; attribute `rl.telemetry.reason`", unit="{request}"
)
METRIC_BRIDGE_REJECTED = _metric("rl.bridge.rejected", "counter", meaning="what came and could not be read, by reason", unit="{record}")
METRIC_BRIDGE_CHILD = _metric("rl.bridge.child.up", "gauge", meaning="1 while a child process runs; attribute `rl.bridge.child`")
METRIC_BRIDGE_RESTARTS = _metric("rl.bridge.child.restarts", "counter", meaning="how often a child was started again", unit="{restart}")
METRIC_BRIDGE_RECORDS = _metric(
    "rl.bridge.records", "gauge", meaning="a run's records by `rl.record.state`: produced, received, missing, …", unit="{record}"
)
METRIC_BRIDGE_BACKEND = _metric("rl.bridge.backend.records", "gauge", meaning="the same for each backend of a run", unit="{record}")
METRIC_BRIDGE_UNHEARD = _metric("rl.bridge.ranks.unheard", "gauge", meaning="ranks of a run that never said anything", unit="{rank}")
METRIC_BRIDGE_CLOCK = _metric(
    "rl.bridge.clock.offset", "gauge", meaning="by how much a host's clock is behind the bridge's, while its run is under way", unit="s"
)

# -- hosts, as the OpenTelemetry semantic conventions have them (system, hardware) --------------------------------
METRIC_CPU_UTILIZATION = _metric("system.cpu.utilization", "gauge", meaning="share of CPU time by `cpu.mode`, over all CPUs", unit="1")
METRIC_MEMORY_USAGE = _metric("system.memory.usage", "updowncounter", meaning="memory in use", unit="By")
METRIC_MEMORY_LIMIT = _metric("system.memory.limit", "updowncounter", meaning="memory there is", unit="By")
METRIC_MEMORY_UTILIZATION = _metric("system.memory.utilization", "gauge", meaning="share of memory in use", unit="1")
METRIC_PAGING_USAGE = _metric("system.paging.usage", "updowncounter", meaning="swap in use", unit="By")
METRIC_DISK_IO = _metric("system.disk.io", "counter", meaning="bytes read and written by all disks, by `disk.io.direction`", unit="By")
METRIC_NETWORK_IO = _metric(
    "system.network.io", "counter", meaning="bytes received and sent, loopback left out, by `network.io.direction`", unit="By"
)
METRIC_FILESYSTEM_USAGE = _metric("system.filesystem.usage", "updowncounter", meaning="bytes in use where the node folder lies", unit="By")
METRIC_FILESYSTEM_UTILIZATION = _metric("system.filesystem.utilization", "gauge", meaning="share of it", unit="1")
METRIC_GPU_UTILIZATION = _metric("hw.gpu.utilization", "gauge", meaning="share of time in which a GPU worked, by `hw.id`", unit="1")
METRIC_GPU_MEMORY_USAGE = _metric("hw.gpu.memory.usage", "updowncounter", meaning="memory of a GPU in use", unit="By")
METRIC_GPU_MEMORY_LIMIT = _metric("hw.gpu.memory.limit", "updowncounter", meaning="memory of a GPU", unit="By")
METRIC_GPU_MEMORY_UTILIZATION = _metric("hw.gpu.memory.utilization", "gauge", meaning="share of a GPU's memory in use", unit="1")
METRIC_TEMPERATURE = _metric("hw.temperature", "gauge", meaning="temperature of a GPU", unit="Cel")
METRIC_POWER = _metric("hw.power", "gauge", meaning="power a GPU draws", unit="W")

# -- instrumentation scopes and status --------------------------------------------------------------------------------
SCOPE_OWN = _scope("rollscope", meaning="what rollscope records itself")
SCOPE_DERIVED = _scope("rollscope.derived", meaning="metrics that repeat a record for Prometheus; the bridge leaves them out")
STATUS_ERROR = 2
"""OTLP status code of a span that failed; 0 is unset, 1 ok."""
