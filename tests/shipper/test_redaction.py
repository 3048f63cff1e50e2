"""What a producer wants redacted never leaves the node: looked for in every byte that a peer was sent."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from rollscope import vocabulary as v
from rollscope.journal import Journal
from rollscope.records import Event, Otlp
from rollscope.redact import MASKED_ID, REDACTED
from rollscope.settings import Redaction
from rollscope.shipper.shipper import Shipper
from rollscope.tokens import pack_ids, register
from tests.tokens.tokenizers_here import byte_level

from .peers import Peer, http_peer, values
from .producers import NOW, open_log, resource, span_end, span_start, tokens, write
from .shipping import PRODUCER, last_heartbeat, ship, ship_in_vain

SECRET = "sk-abc123XYZ"
PATTERNS = {"patterns": [r"sk-\w+"]}


def redacting_log(directory: Path, **redact: Any) -> Journal:
    """A log whose producer asked for redaction."""
    return open_log(directory, meta={"producer": PRODUCER, "resource": {**resource(PRODUCER), "team": SECRET}, "redact": redact})


def everything(peer: Peer) -> bytes:
    """All that was sent, refused requests included."""
    return b"".join(received.message.SerializeToString() for received in [*peer.taken, *peer.refused])


def metrics_request() -> bytes:
    """Metrics of an SDK, with the secret in the attributes of a point and of the resource."""
    request = ExportMetricsServiceRequest()
    group = request.resource_metrics.add()
    group.resource.attributes.add(key="owner").value.string_value = SECRET
    point = group.scope_metrics.add().metrics.add(name="requests").gauge.data_points.add(as_double=1.0)
    attribute = point.attributes.add(key="query").value.kvlist_value.values.add(key="q")
    attribute.value.array_value.values.add(string_value=f"is {SECRET} valid")
    return request.SerializeToString()


def test_the_secret_is_in_nothing_that_was_sent(tmp_path: Path) -> None:
    """In no span, event, message, argument, link, log line, table, configuration, name or metric, and what was replaced is counted."""
    journal = redacting_log(tmp_path, **PATTERNS)
    attributes = {
        v.MESSAGES_INPUT: json.dumps([{"role": "user", "content": f"use {SECRET}"}]),
        v.GEN_AI_TOOL_CALL_ARGUMENTS: json.dumps({"deep": [{"key": SECRET}]}),
        "mine": {"list": [SECRET]},
    }
    write(
        journal,
        span_start(f"open {SECRET}", attributes={"a": SECRET}),
        span_end(
            f"tool {SECRET}",
            attributes=attributes,
            message=f"ValueError: {SECRET}",
            events=[(NOW, "exception", {v.EXCEPTION_STACKTRACE: f"…{SECRET}…"})],
            links=[(b"t" * 16, b"s" * 8, {"why": SECRET})],
        ),
        Event(
            v.EVENT_RUN_STARTED, NOW, {v.RUN_CONFIG: json.dumps({"env": {"KEY": SECRET}}), v.RUN_CIRCUMSTANCES: f'{{"diff": "+{SECRET}"}}'}
        ),
        Event("", NOW, {}, body=f"WARNING {SECRET}"),
        Event(v.EVENT_TABLE, NOW, {v.TABLE_NAME: "t", v.TABLE_ROWS: json.dumps([{"answer": SECRET}])}),
        Event(v.EVENT_STEP_METRICS, NOW, {v.METRICS: {f"val/{SECRET}": 1.0, "loss": 2.0}}),
        Otlp("metrics", metrics_request()),
    )
    with http_peer() as peer:
        assert ship(tmp_path, peer)
        journal.close()
        assert ship(tmp_path, peer)
    assert SECRET.encode() not in everything(peer)
    assert sorted(peer.sequences(PRODUCER)) == [1, 2, 3, 4, 5]
    (span,) = [span for span in peer.spans() if span.name.startswith("tool")]
    assert span.name == f"tool {REDACTED}"
    assert json.loads(values(span.attributes)[v.GEN_AI_TOOL_CALL_ARGUMENTS]) == {"deep": [{"key": REDACTED}]}
    assert last_heartbeat(peer)[v.TRUNCATED]["redacted: patterns"] >= 15


def test_neither_are_the_ids_that_decode_to_it(tmp_path: Path) -> None:
    """They are masked, and so are those before the next segment; where there is no text, all are."""
    tokenizer = byte_level()
    name = register(tokenizer, tmp_path)
    secret = tokenizer.encode(SECRET).ids
    around, after = tokenizer.encode("the key is "), tokenizer.encode(" and so on").ids
    journal = redacting_log(tmp_path, **PATTERNS)
    ids = [*around.ids, *secret, *after]
    write(
        journal,
        tokens(ids, tokenizer=name),
        tokens(after, lead=secret[-8:], kept=len(ids), tokenizer=name),
        tokens(secret),
    )
    journal.close()
    with http_peer() as peer:
        assert ship(tmp_path, peer)
    sent = everything(peer)
    assert SECRET.encode() not in sent
    assert pack_ids(secret) not in sent
    assert pack_ids(secret[-8:]) not in sent
    first, second, unknown = (values(record.attributes) for record in peer.logs(v.EVENT_TOKENS))
    clean = list(struct.unpack(f"<{len(ids)}i", first[v.TOKENS_IDS]))
    assert clean[: len(around.ids)] == around.ids
    assert set(clean[len(around.ids) : -len(after)]) == {MASKED_ID}
    assert first[v.TOKENS_TEXT] == f"the key is {REDACTED} and so on"
    assert (second[v.TOKENS_LEAD], unknown[v.TOKENS_IDS]) == (b"", struct.pack("<i", MASKED_ID) * len(secret))
    assert "redaction took the ids out" in unknown[v.TOKENS_UNDECODED]


def test_what_the_shippers_own_environment_asks_for_is_added(tmp_path: Path) -> None:
    """Whoever runs the node can redact what no program on it asks for."""
    journal = redacting_log(tmp_path, keys=["mine"])
    write(journal, span_end(attributes={"mine": "x", "other": SECRET}))
    journal.close()
    with http_peer() as peer:
        assert Shipper(tmp_path, peer.endpoints, redaction=Redaction(patterns=(r"sk-\w+",))).drain(30.0)
    assert values(peer.spans()[0].attributes).items() >= {"mine": REDACTED, "other": REDACTED}.items()


def test_a_record_on_which_a_function_fails_stays(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It is counted by name and quoted nowhere; its neighbours arrive, the span left open is told of by no name."""
    journal = redacting_log(tmp_path, function="tests.redact.functions:scrub")
    poison = {"a": "poison hunter2"}
    write(journal, span_start("open", attributes=poison), span_end(attributes={"a": "hunter2"}), span_end(attributes=poison), span_end())
    journal.close()
    with http_peer() as peer:
        assert ship(tmp_path, peer)
    assert b"hunter2" not in everything(peer)
    assert "hunter2" not in caplog.text
    assert sorted(peer.sequences(PRODUCER)) == [1, 3]
    assert last_heartbeat(peer)[v.DROPPED] == {"evicted redaction failed: RuntimeError": 1}


def test_a_pattern_that_would_run_for_years_holds_up_nothing(tmp_path: Path) -> None:
    """The records it cannot be done with are withheld; run records and other spans arrive."""
    journal = redacting_log(tmp_path, patterns=[r"(a+)+$"])
    write(journal, span_end(), span_end(attributes={"a": "a" * 50 + "b"}), span_end(), Event(v.EVENT_STEP_METRICS, NOW, {}))
    journal.close()
    with http_peer() as peer:
        assert ship(tmp_path, peer)
    assert sorted(peer.sequences(PRODUCER)) == [1, 3, 4]
    assert last_heartbeat(peer)[v.DROPPED] == {"evicted redaction failed: took too long": 1}


def test_a_function_that_cannot_be_had_holds_the_log_back(tmp_path: Path) -> None:
    """Nothing of it is sent and nothing is lost: other logs go on, and the status names function and logs."""
    journal = redacting_log(tmp_path, function="nowhere:f")
    write(journal, span_end())
    journal.close()
    other = open_log(tmp_path, "bbbbbbbbbbbbbbbb")
    write(other, span_end())
    other.close()
    with http_peer() as peer:
        ship_in_vain(tmp_path, peer, lambda: bool(peer.numbered()))
    assert {producer for producer, _ in peer.numbered()} == {"bbbbbbbbbbbbbbbb"}
    assert SECRET.encode() not in everything(peer)
    status = json.loads((tmp_path / "shipper.json").read_text())
    assert "1 log is held back: redact.function 'nowhere:f' cannot be loaded" in status["error"]
    assert (tmp_path / "producers" / PRODUCER).is_dir()
