"""Names of resource, span, event and log attributes."""

from __future__ import annotations

from functools import partial

from ._registry import define

_resource = partial(define, "resource")
_attribute = partial(define, "attribute")

# -- resource: once per process -----------------------------------------------------------------------------------
SERVICE_NAME = _resource("service.name", "string", "logical service, `rollscope` unless set")
SERVICE_NAMESPACE = _resource("service.namespace", "string", "group of services of a foreign program; read only")
SERVICE_INSTANCE_ID = _resource("service.instance.id", "string", "unique per producer; equals `rl.producer.id`")
HOST_NAME = _resource("host.name", "string", "node the process runs on")
PROCESS_PID = _resource("process.pid", "int", "process id on its node")
RUN_ID = _resource(
    "rl.run.id", "string", "identity of the training job, equal in all processes and across restarts", proposal="A `rl.run.id`"
)
RUN_NAME = _resource("rl.run.name", "string", "display name (the experiment)")
RUN_ATTEMPT = _resource("rl.run.attempt", "int", "restart count of the run, from 0")
PROJECT_NAME = _resource("rl.project.name", "string", "grouping of runs in the backends")
SYSTEM = _resource("rl.system", "string", "RL framework, such as `verl`", proposal="A `rl.system`")
ALGORITHM = _resource("rl.algorithm", "string", "`grpo`, `ppo`, `dapo`, …", proposal="A `rl.algorithm`")
WORKER_ROLE = _resource("rl.worker.role", "string", "`trainer`, `rollout`, `reward_model`, `env`, …")
WORKER_RANK = _resource("rl.worker.rank", "int", "global rank")
WORKER_WORLD_SIZE = _resource("rl.worker.world_size", "int", "number of ranks")
WORKER_LOCAL_RANK = _resource("rl.worker.local_rank", "int", "rank within its node")
WORKER_NODE_RANK = _resource("rl.worker.node_rank", "int", "index of the node")
PRODUCER_ID = _resource("rl.producer.id", "string", "one journal writer: a process within a run")

# -- what every record carries ------------------------------------------------------------------------------------
PRODUCER_SEQUENCE = _attribute("rl.producer.sequence", "int", "number of the record within its producer, from 1, without gaps")
LOG_RECORD_UID = _attribute("log.record.uid", "string", "`{producer}-{sequence}`")

# -- identity of the work -----------------------------------------------------------------------------------------
STEP_INDEX = _attribute("rl.loop.iteration", "int", "optimiser-visible global step", proposal="A `rl.loop.iteration`")
STEP_SPAN = _attribute("rl.step.span", "string", "baggage: `{trace id}-{span id}` of the step that trajectories elsewhere link to")
EPOCH_INDEX = _attribute("rl.epoch.index", "int", "pass over the data")
PHASE_NAME = _attribute("rl.phase.name", "string", "phase of the step")
SPLIT_NAME = _attribute("rl.split.name", "string", "`train`, `validation`, `test`")
POLICY_VERSION = _attribute("rl.policy.version", "int", "version of the weights that acted")
GROUP_ID = _attribute("rl.group.id", "string", "prompt group (GRPO uid)")
GROUP_SIZE = _attribute("rl.group.size", "int", "samples per prompt")
TRAJECTORY_ID = _attribute("rl.trajectory.id", "string", "identity of the trajectory; equals its trace id in hex")
TRAJECTORY_INDEX = _attribute("rl.trajectory.index", "int", "position in the group")
TRAJECTORY_ATTEMPT = _attribute("rl.trajectory.attempt", "int", "retry or resumed partial rollout, from 0")
TRAJECTORY_OUTCOME = _attribute(
    "rl.trajectory.outcome",
    "string",
    "`completed`, `truncated`, `aborted`, `cancelled`, `failed`, `filtered`",
    proposal="near: B `rl.reward.run.code`, which knows `success`, `timeout`, `error`, `max_turns` only",
)
TRAJECTORY_TURN_COUNT = _attribute("rl.sample.turns", "int", "turns the trajectory took", proposal="B `rl.sample.turns`")
TRAJECTORY_RECORD_COUNT = _attribute(
    "rl.trajectory.record_count", "int", "records its process wrote under this trace before the root span ended, the root included"
)
TRAJECTORY_INCOMPLETE = _attribute("rl.incomplete", "string", "what of the trajectory is missing, where something is")
TURN_INDEX = _attribute("rl.turn.index", "int", "turn within the trajectory, from 0")
SAMPLE_ID = _attribute("rl.sample.task.id", "string", "row of the dataset", proposal="B `rl.sample.task.id`")
DATASET_NAME = _attribute("rl.dataset.name", "string", "data source")
DATASET_DIGEST = _attribute("rl.dataset.digest", "string", "digest of the dataset where given")
ENVIRONMENT_NAME = _attribute("rl.environment.name", "string", "environment", proposal="A `rl.environment.name`")

# -- reward and other facts ---------------------------------------------------------------------------------------
REWARD_VALUE = _attribute("rl.reward.score", "double", "scalar reward of the trajectory", proposal="A, B `rl.reward.score`")
REWARD_SOURCE_NAME = _attribute("rl.reward.source.name", "string", "function or model that scored")
REWARD_COMPONENTS = _attribute("rl.reward.components", "map", "named partial rewards")
REWARD_EXPLANATION = _attribute("rl.reward.explanation", "string", "why the score was given")
ADVANTAGE_VALUE = _attribute("rl.advantage.value", "double", "sequence-level advantage")
RETURN_VALUE = _attribute("rl.return.value", "double", "sequence-level return")
TRAJECTORY_FILTERED = _attribute("rl.trajectory.filtered", "any", "true, or the reason, when the sample was left out of the update")
TRAINED_STEP = _attribute("rl.trained.step", "int", "step whose update consumed the sample")
TRAINED_VERSION = _attribute("rl.policy.trained_version", "int", "policy version that was trained with the sample")
FACTS = _attribute("rl.facts", "map", "late facts of a trajectory by attribute name (advantage, filtering, consumed version, …)")

# -- step metrics, tables, artifacts ------------------------------------------------------------------------------
METRICS = _attribute("rl.metrics", "map", "all scalars of one step: name → number, bool or string")
METRIC_NAME = _attribute("rl.metric.name", "string", "name of a step's scalar, on the gauge points derived from it")
TABLE_NAME = _attribute("rl.table.name", "string", "name of a table")
TABLE_ROWS = _attribute("rl.table.rows", "string", "rows of a table as a JSON list of objects")
ARTIFACT_NAME = _attribute("rl.artifact.name", "string", "path of an artifact within the run")
ARTIFACT_TYPE = _attribute("rl.artifact.type", "string", "`file`, `model`, …")
ARTIFACT_ALIASES = _attribute("rl.artifact.aliases", "string[]", "aliases such as `best`")
ARTIFACT_URI = _attribute("rl.artifact.uri", "string", "where the file lies when its content does not travel")
ARTIFACT_DIGEST = _attribute("rl.artifact.digest", "string", "`sha256:` of the whole content")
ARTIFACT_SIZE = _attribute("rl.artifact.size", "int", "size of the whole content", unit="By")
ARTIFACT_CHUNK_INDEX = _attribute("rl.artifact.chunk.index", "int", "position of this piece of the content, from 0")
ARTIFACT_CHUNK_COUNT = _attribute("rl.artifact.chunk.count", "int", "pieces of the content")
ARTIFACT_CONTENT = _attribute("rl.artifact.content", "bytes", "this piece of the content")

ARTIFACT_FILES = _attribute(
    "rl.artifact.files",
    "string",
    "files of a checkpoint as a JSON list of `[path, bytes, modified (Unix ns), digest]`, digest empty where unread",
)
ARTIFACT_UID = _attribute("rl.artifact.uid", "string", "identity of a checkpoint's record, equal in what is said of it later")

# -- histograms and images ----------------------------------------------------------------------------------------
HISTOGRAM_NAME = _attribute("rl.histogram.name", "string", "name of a histogram")
HISTOGRAM_EDGES = _attribute("rl.histogram.edges", "bytes", "edges of the bins, one more than bins, little-endian float64")
HISTOGRAM_COUNTS = _attribute("rl.histogram.counts", "bytes", "values in each bin, little-endian int64; the last bin holds its upper edge")
HISTOGRAM_COUNT = _attribute("rl.histogram.count", "int", "finite values, those outside given edges included")
HISTOGRAM_SUM = _attribute("rl.histogram.sum", "double", "sum of the finite values")
HISTOGRAM_MIN = _attribute("rl.histogram.min", "double", "least finite value")
HISTOGRAM_MAX = _attribute("rl.histogram.max", "double", "largest finite value")
HISTOGRAM_NAN = _attribute("rl.histogram.nan", "int", "values that are no number")
HISTOGRAM_POSITIVE_INFINITE = _attribute("rl.histogram.positive_infinite", "int", "values that are +Inf")
HISTOGRAM_NEGATIVE_INFINITE = _attribute("rl.histogram.negative_infinite", "int", "values that are -Inf")
IMAGE_NAME = _attribute("rl.image.name", "string", "name of an image; empty for one that stands in a message")
IMAGE_CAPTION = _attribute("rl.image.caption", "string", "caption of an image")
IMAGE_TYPE = _attribute("rl.image.type", "string", "media type, such as `image/png`")
IMAGE_DIGEST = _attribute("rl.image.digest", "string", "`sha256:` of the whole content, under which it is kept once a run")
IMAGE_SIZE = _attribute("rl.image.size", "int", "size of the whole content", unit="By")
IMAGE_WIDTH = _attribute("rl.image.width", "int", "width, where known", unit="{pixel}")
IMAGE_HEIGHT = _attribute("rl.image.height", "int", "height, where known", unit="{pixel}")
IMAGE_CHUNK_INDEX = _attribute("rl.image.chunk.index", "int", "position of this piece of the content, from 0")
IMAGE_CHUNK_COUNT = _attribute("rl.image.chunk.count", "int", "pieces of the content; 0 where it was sent before, or is too large")
IMAGE_CONTENT = _attribute("rl.image.content", "bytes", "this piece of the content")

# -- tokens -------------------------------------------------------------------------------------------------------
TOKENS_ROLE = _attribute("rl.tokens.role", "string", "`prompt` or `output`")
TOKENS_KEPT = _attribute("rl.tokens.kept", "int", "ids of the trajectory's context that stay before this segment", unit="{token}")
TOKENS_LEAD = _attribute("rl.tokens.lead", "bytes", "up to 8 ids before the segment, so that a split character can be joined")
TOKENS_IDS = _attribute("rl.tokens.ids", "bytes", "token ids, little-endian int32")
TOKENS_LOGPROBS = _attribute("rl.tokens.logprobs", "bytes", "sampled log-probabilities, little-endian float16")
TOKENS_LOSS_MASK = _attribute("rl.tokens.loss_mask", "bytes", "loss mask, one bit a token, most significant bit first")
TOKENS_ADVANTAGES = _attribute("rl.tokens.advantages", "bytes", "token-level advantages, little-endian float16")
TOKENS_COUNT = _attribute("rl.tokens.count", "int", "tokens in the segment", unit="{token}")
TOKENS_TEXT = _attribute("rl.tokens.text", "string", "text decoded from the segment")
TOKENS_OFFSETS = _attribute("rl.tokens.offsets", "bytes", "end offset of each token in the text, characters, little-endian int32")
TOKENS_TAIL = _attribute("rl.tokens.tail", "bytes", "bytes of a character that the segment leaves unfinished")
TOKENS_UNDECODED = _attribute("rl.tokens.undecoded", "string", "why the ids came without text")
TOKENIZER_NAME = _attribute("rl.tokenizer.name", "string", "name or path of the run's tokenizer")
TOKENIZER_DIGEST = _attribute("rl.tokenizer.digest", "string", "digest under which the run keeps its tokenizer")
MESSAGES_KEPT = _attribute("rl.messages.kept", "int", "messages of the trajectory's context that stay before the recorded ones")
MESSAGES_INPUT = _attribute(
    "rl.messages.input", "string", "new input messages, OpenAI format, JSON; becomes `gen_ai.input.messages` on the wire"
)
MESSAGES_OUTPUT = _attribute(
    "rl.messages.output", "string", "produced message, OpenAI format, JSON; becomes `gen_ai.output.messages` on the wire"
)
CONTEXT_INDEX = _attribute("rl.context.index", "int", "number of the generation within its trajectory, from 0")
CONTEXT_BREAK = _attribute("rl.context.break", "boolean", "the history was edited, truncated or compacted before this generation")

# -- keys within a message part: what OpenAI's format has and the GenAI parts do not, kept so that both ways are lossless --
PART_OPENAI = _attribute("rl.openai", "map", "within a message: what OpenAI's format holds and the GenAI parts do not")
PART_ARGUMENTS = _attribute("rl.arguments", "boolean", "within a tool call part: the arguments stood as a JSON value, not as text")
PART_KEY = _attribute("rl.key", "string", "within a reasoning part: the key of the message under which it stood")

# -- run circumstances --------------------------------------------------------------------------------------------
RUN_CONFIG = _attribute("rl.run.config", "string", "whole configuration as JSON")
RUN_TAGS = _attribute("rl.run.tags", "string[]", "tags of the run")
RUN_NOTES = _attribute("rl.run.notes", "string", "free text about the run")
RUN_BACKENDS = _attribute("rl.run.backends", "string[]", "backends the run asks for")
RUN_CIRCUMSTANCES = _attribute("rl.run.circumstances", "string", "command line, git state, versions, host, accelerators as JSON")
RUN_STATUS = _attribute("rl.run.status", "string", "`finished`, `failed`, `aborted`")
RUN_ERROR = _attribute("rl.run.error", "string", "type and message of the exception that ended the run")

# -- the recorder about itself ------------------------------------------------------------------------------------
LAST_SEQUENCE = _attribute("rl.producer.last_sequence", "int", "highest sequence number the producer has used")
DROPPED = _attribute("rl.producer.dropped", "map", "records the producer dropped: reason → count")
TRUNCATED = _attribute("rl.producer.truncated", "map", "values the producer shortened or replaced: reason → count")
FAILED_CALLS = _attribute("rl.producer.failed_calls", "map", "calls that recorded nothing because of what they were given: reason → count")
DELETED_UPTO = _attribute(
    "rl.producer.deleted_upto", "int", "highest number of a record whose journal was deleted under its process; 0 where none was"
)
FINAL = _attribute("rl.producer.final", "boolean", "the producer has ended and everything of it was sent")
ABNORMAL = _attribute("rl.producer.abnormal", "boolean", "the producer ended without finishing its run")
OPEN_SPANS = _attribute("rl.producer.open_spans", "map[]", "spans still open: name, trace id, span id, age in seconds")
OPEN_COUNT = _attribute("rl.producer.open_span_count", "int", "number of spans still open; the list holds the oldest 200")
LOSS_REASON = _attribute("rl.telemetry.reason", "string", "why records were lost, on the counter derived from heartbeats")
RECORD_STATE = _attribute("rl.record.state", "string", "`produced`, `received`, `missing`, `delivered`, … on the bridge's metrics")
BACKEND_NAME = _attribute("rl.backend.name", "string", "backend, on the bridge's metrics")
BRIDGE_CHILD = _attribute("rl.bridge.child", "string", "child process of the bridge: `pipeline` or a backend's name")
BRIDGE_SIGNAL = _attribute("rl.bridge.signal", "string", "`traces`, `metrics`, `logs`, on the bridge's metrics")
ATTRIBUTES_DROPPED = _attribute("rl.attributes.truncated", "boolean", "a value of this record was shortened or replaced")
ABORTED = _attribute("rl.aborted", "boolean", "the span was closed for a process that died; its end is the last time seen")

# -- of host metrics ----------------------------------------------------------------------------------------------
CPU_MODE = _attribute("cpu.mode", "string", "`user`, `system`, `iowait`, `idle`")
MEMORY_STATE = _attribute("system.memory.state", "string", "`used`")
PAGING_STATE = _attribute("system.paging.state", "string", "`used`")
FILESYSTEM_STATE = _attribute("system.filesystem.state", "string", "`used`")
FILESYSTEM_MOUNTPOINT = _attribute("system.filesystem.mountpoint", "string", "where the file system is mounted")
DISK_IO_DIRECTION = _attribute("disk.io.direction", "string", "`read`, `write`")
NETWORK_IO_DIRECTION = _attribute("network.io.direction", "string", "`receive`, `transmit`")
HW_ID = _attribute("hw.id", "string", "index of the GPU on its node")
HW_NAME = _attribute("hw.name", "string", "model of the GPU")
HW_TYPE = _attribute("hw.type", "string", "`gpu`")

# -- GenAI, OpenTelemetry semantic conventions 1.41 (the last generation published inside semantic-conventions) ----
GEN_AI_OPERATION_NAME = _attribute("gen_ai.operation.name", "string", "`chat`, `execute_tool`, `invoke_agent`")
GEN_AI_PROVIDER_NAME = _attribute("gen_ai.provider.name", "string", "inference engine, such as `vllm`")
GEN_AI_REQUEST_MODEL = _attribute(
    "gen_ai.request.model", "string", "model asked for", proposal="near: B `rl.sample.model`, of a whole rollout"
)
GEN_AI_REQUEST_TEMPERATURE = _attribute("gen_ai.request.temperature", "double", "sampling temperature")
GEN_AI_REQUEST_TOP_P = _attribute("gen_ai.request.top_p", "double", "nucleus sampling")
GEN_AI_REQUEST_TOP_K = _attribute("gen_ai.request.top_k", "double", "top-k sampling")
GEN_AI_REQUEST_MAX_TOKENS = _attribute("gen_ai.request.max_tokens", "int", "limit of the response", unit="{token}")
GEN_AI_REQUEST_SEED = _attribute("gen_ai.request.seed", "int", "sampling seed")
GEN_AI_RESPONSE_FINISH_REASONS = _attribute("gen_ai.response.finish_reasons", "string[]", "why generation ended, one a choice")
GEN_AI_USAGE_INPUT_TOKENS = _attribute(
    "gen_ai.usage.input_tokens",
    "int",
    "prompt tokens, cached included",
    unit="{token}",
    proposal="near: B `rl.sample.input_tokens`, of a whole rollout",
)
GEN_AI_USAGE_OUTPUT_TOKENS = _attribute(
    "gen_ai.usage.output_tokens",
    "int",
    "sampled tokens",
    unit="{token}",
    proposal="near: B `rl.sample.output_tokens`, of a whole rollout",
)
GEN_AI_CONVERSATION_ID = _attribute("gen_ai.conversation.id", "string", "equals `rl.trajectory.id`")
GEN_AI_AGENT_NAME = _attribute("gen_ai.agent.name", "string", "agent", proposal="near: B `rl.sample.agent.profile`, its configuration")
GEN_AI_TOOL_NAME = _attribute("gen_ai.tool.name", "string", "tool")
GEN_AI_TOOL_TYPE = _attribute("gen_ai.tool.type", "string", "`function`")
GEN_AI_TOOL_CALL_ID = _attribute("gen_ai.tool.call.id", "string", "id of the call")
GEN_AI_TOOL_CALL_ARGUMENTS = _attribute("gen_ai.tool.call.arguments", "any", "arguments as JSON")
GEN_AI_TOOL_CALL_RESULT = _attribute("gen_ai.tool.call.result", "any", "result as JSON or text")
GEN_AI_TOOL_DEFINITIONS = _attribute("gen_ai.tool.definitions", "any", "tools offered, JSON; recorded when they change")
GEN_AI_SYSTEM_INSTRUCTIONS = _attribute("gen_ai.system_instructions", "any", "system message of a foreign program, JSON parts; read only")
GEN_AI_INPUT_MESSAGES = _attribute("gen_ai.input.messages", "any", "new input messages as JSON parts")
GEN_AI_OUTPUT_MESSAGES = _attribute("gen_ai.output.messages", "any", "produced messages as JSON parts")

# -- general ------------------------------------------------------------------------------------------------------
ERROR_TYPE = _attribute("error.type", "string", "class of the error")
EXCEPTION_TYPE = _attribute("exception.type", "string", "class of the exception")
EXCEPTION_MESSAGE = _attribute("exception.message", "string", "message of the exception")
EXCEPTION_STACKTRACE = _attribute("exception.stacktrace", "string", "stack trace, bounded")
CODE_FUNCTION_NAME = _attribute("code.function.name", "string", "qualified name of a traced function")
CODE_FILE_PATH = _attribute("code.file.path", "string", "source file of a log line")
CODE_LINE_NUMBER = _attribute("code.line.number", "int", "source line of a log line")
THREAD_NAME = _attribute("thread.name", "string", "thread that logged a line")
LOGGER_NAME = _attribute("logger", "string", "name of the logger of a log line; also its scope")
CODE_ARGUMENTS = _attribute("rl.code.arguments", "string", "captured arguments as JSON, bounded")
CODE_RESULT = _attribute("rl.code.result", "string", "captured result as JSON, bounded")
CANCELLED = _attribute("rl.cancelled", "boolean", "the work was cancelled; not an error")

# -- namespaces, for names that are made of a prefix and a word of the user's own --------------------------------------
NAMESPACE_REQUEST = "gen_ai.request."
NAMESPACE_USAGE = "gen_ai.usage."
NAMESPACE_TOKENS = "rl.tokens."
