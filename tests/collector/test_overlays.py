"""What the gateway's overlays change, read back from Jaeger, or from a server that stands in for W&B Weave."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from rollscope import vocabulary as v
from rollscope.records import SpanEnd
from rollscope.settings import resolve_endpoints
from rollscope.shipper.shipper import Shipper
from tests.collector.stack import Stack
from tests.fixtures.ports import free_port
from tests.shipper.peers import values
from tests.shipper.producers import NOW, open_log, span_end, write

pytestmark = pytest.mark.integration
SECRET = "what the user said"
CONTENT = {
    v.MESSAGES_INPUT: f'[{{"role": "user", "content": "{SECRET}"}}]',
    v.MESSAGES_OUTPUT: f'{{"role": "assistant", "content": "{SECRET}"}}',
    v.GEN_AI_TOOL_DEFINITIONS: SECRET,
    v.GEN_AI_TOOL_CALL_ARGUMENTS: SECRET,
    v.GEN_AI_TOOL_CALL_RESULT: SECRET,
    v.CODE_ARGUMENTS: SECRET,
    v.CODE_RESULT: SECRET,
    v.REWARD_EXPLANATION: SECRET,
    v.EXCEPTION_MESSAGE: SECRET,
}


@contextmanager
def gateway(folder: Path, *overlays: str, **environment: str) -> Iterator[Stack]:
    """A gateway with overlays, and Jaeger behind it."""
    stack = Stack(folder, overlays, environment)
    try:
        stack.start("jaeger", "gateway")
        yield stack
    finally:
        stack.end()


def ship(stack: Stack, folder: Path, *spans: SpanEnd) -> None:
    """Send spans to the gateway by the real shipper."""
    journal = open_log(folder)
    write(journal, *spans)
    journal.close()
    endpoints = resolve_endpoints(
        {"ROLLSCOPE_ENDPOINT": stack.url("gateway_http"), "ROLLSCOPE_ENDPOINT_TOKENS": stack.url("gateway_tokens_http")}
    )
    assert endpoints is not None
    assert Shipper(folder, endpoints).drain(120.0)


def in_jaeger(stack: Stack) -> dict[str, dict[str, Any]]:
    """Spans by name."""
    # Spans of these tests lie at a fixed time.
    found = stack.get("jaeger", "/api/traces", service="test", limit="1000", start="1", end="9000000000000000")["data"] or []
    return {span["operationName"]: span for trace in found for span in trace["spans"]}


def test_no_content_leaves_no_text(tmp_path: Path) -> None:
    """With the overlay Jaeger has the spans with their numbers, and not a word of messages, tools, arguments or errors."""
    numbers = {v.GEN_AI_USAGE_OUTPUT_TOKENS: 7, v.STEP_INDEX: 3}
    error = [(NOW, "exception", {v.EXCEPTION_TYPE: "KeyError", v.EXCEPTION_MESSAGE: SECRET})]
    span = span_end("chat m", attributes={**CONTENT, **numbers}, events=error, status=2, message=SECRET)
    with gateway(tmp_path, "overlays/no-content.yaml") as stack:
        ship(stack, tmp_path / "node", span)
        stack.until(lambda: "chat m" in in_jaeger(stack), "the span is not in Jaeger")
        found = in_jaeger(stack)["chat m"]
    assert SECRET not in str(found)
    assert {tag["key"]: tag["value"] for tag in found["tags"]}.items() >= {**numbers, "error": True}.items()
    assert "KeyError" in str(found["logs"])


def test_with_content_the_text_is_there(tmp_path: Path) -> None:
    """Without the overlay the same span has its text: the test above can fail."""
    with gateway(tmp_path) as stack:
        ship(stack, tmp_path / "node", span_end("chat m", attributes=CONTENT))
        stack.until(lambda: "chat m" in in_jaeger(stack), "the span is not in Jaeger")
        assert str(in_jaeger(stack)).count(SECRET) >= len(CONTENT)


def test_tail_sampling_keeps_what_matters(tmp_path: Path) -> None:
    """Steps, errors, unfinished and slow trajectories and extreme rewards are kept whole, of the rest the share that was asked for."""

    def trajectory(name: str, **changes: Any) -> SpanEnd:
        attributes = {v.TRAJECTORY_ID: name, v.REWARD_VALUE: 0.5, **changes.pop("attributes", {})}
        return span_end(name, attributes=attributes, **changes)

    start = span_end().start
    spans = [
        span_end(v.SPAN_STEP, attributes={v.STEP_INDEX: 1}),
        trajectory("failed", status=2),
        trajectory("aborted", attributes={v.TRAJECTORY_OUTCOME: "aborted"}),
        trajectory("slow", end=start + 3_000_000_000),
        trajectory("best", attributes={v.REWARD_VALUE: 1.0}),
        trajectory("worst", attributes={v.REWARD_VALUE: -1.0}),
        *(trajectory(f"ordinary {number}") for number in range(50)),
    ]
    settings = {"ROLLSCOPE_SLOW_MS": "2000", "ROLLSCOPE_SAMPLE_PERCENT": "0", "ROLLSCOPE_DECISION_WAIT": "2s"}
    with gateway(tmp_path, "overlays/tail-sampling.yaml", **settings) as stack:
        ship(stack, tmp_path / "node", *spans)
        stack.until(lambda: len(in_jaeger(stack)) >= 6, "what matters is not in Jaeger")
        assert in_jaeger(stack).keys() == {v.SPAN_STEP, "failed", "aborted", "slow", "best", "worst"}


class Weave:
    """Stands in for W&B Weave's OTLP endpoint: keeps what a real Collector sends. What the service makes of it cannot be tested here."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        weave = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                weave.requests.append((self.path, {name.lower(): text for name, text in self.headers.items()}, body))
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *args: object) -> None:
                """Keep test output readable."""

        self.server = ThreadingHTTPServer(("127.0.0.1", free_port()), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/agents/otel"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def spans(self) -> list[Any]:
        """All spans that were sent."""
        requests = [ExportTraceServiceRequest.FromString(gzip.decompress(body)) for _, _, body in self.requests]
        return [span for request in requests for group in request.resource_spans for scope in group.scope_spans for span in scope.spans]

    def close(self) -> None:
        """Stop listening."""
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def weave() -> Iterator[Weave]:
    """A server of the test's own."""
    server = Weave()
    yield server
    server.close()


def test_weave_gets_conversations_with_its_headers(tmp_path: Path, weave: Weave) -> None:
    """Path, key, project and encoding are what Weave documents; spans that are no conversation stay out."""
    settings = {"ROLLSCOPE_WEAVE_URL": weave.url, "WANDB_API_KEY": "k" * 40, "ROLLSCOPE_WEAVE_PROJECT": "entity/project"}
    with gateway(tmp_path, "overlays/weave.yaml", **settings) as stack:
        ship(stack, tmp_path / "node", *trajectory_spans(), span_end(v.SPAN_STEP, attributes={v.STEP_INDEX: 1}))
        stack.until(lambda: len(weave.spans) >= 3, "nothing was sent to Weave")
    for path, headers, _ in weave.requests:
        check_request(path, headers)
    check_conversation({span.name: span for span in weave.spans})


def trajectory_spans() -> list[SpanEnd]:
    """A root, a generation and the tool that it calls."""
    ids = {v.TRAJECTORY_ID: "t", v.GEN_AI_CONVERSATION_ID: "t"}
    root = span_end("invoke_agent a", attributes={v.GEN_AI_OPERATION_NAME: v.SPAN_INVOKE_AGENT, v.GEN_AI_AGENT_NAME: "a", **ids})
    chat = {v.GEN_AI_OPERATION_NAME: v.SPAN_CHAT, v.GEN_AI_USAGE_OUTPUT_TOKENS: 7, **ids, **CONTENT}
    tool = {v.GEN_AI_OPERATION_NAME: v.SPAN_EXECUTE_TOOL, v.GEN_AI_TOOL_NAME: "add", v.GEN_AI_TOOL_CALL_ID: "c1", **ids, **CONTENT}
    below = {"trace_id": root.trace_id, "parent_id": root.span_id}
    return [root, span_end("chat m", attributes=chat, **below), span_end("execute_tool add", attributes=tool, **below)]


def check_request(path: str, headers: dict[str, str]) -> None:
    """Hold one request against what Weave's service documents."""
    assert path == "/agents/otel/v1/traces"
    expected = {
        "wandb-api-key": "k" * 40,
        "project_id": "entity/project",
        "content-type": "application/x-protobuf",
        "content-encoding": "gzip",
    }
    assert headers.items() >= expected.items()


def check_conversation(spans: dict[str, Any]) -> None:
    """One trace of one conversation: generation and tool below the root, messages in the parts of the GenAI conventions, own times."""
    assert spans.keys() == {"invoke_agent a", "chat m", "execute_tool add"}
    root, chat, tool = spans["invoke_agent a"], spans["chat m"], spans["execute_tool add"]
    assert {span.trace_id for span in spans.values()} == {root.trace_id}
    assert (root.parent_span_id, chat.parent_span_id, tool.parent_span_id) == (b"", root.span_id, root.span_id)
    assert {span.end_time_unix_nano for span in spans.values()} == {span_end().end}
    found = {name: values(span.attributes) for name, span in spans.items()}
    assert {name: attributes[v.GEN_AI_OPERATION_NAME] for name, attributes in found.items()} == {
        name: name.partition(" ")[0] for name in spans
    }
    assert {attributes[v.GEN_AI_CONVERSATION_ID] for attributes in found.values()} == {"t"}
    assert found["chat m"][v.GEN_AI_USAGE_OUTPUT_TOKENS] == 7
    (said,), (answered,) = (json.loads(found["chat m"][key]) for key in (v.GEN_AI_INPUT_MESSAGES, v.GEN_AI_OUTPUT_MESSAGES))
    assert (said["role"], said["parts"]) == ("user", [{"type": "text", "content": SECRET}])
    assert (answered["role"], answered["parts"]) == ("assistant", [{"type": "text", "content": SECRET}])
    assert found["execute_tool add"][v.GEN_AI_TOOL_CALL_RESULT] == SECRET
