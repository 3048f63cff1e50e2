"""What is redacted of plain values: by key, by pattern, by function, at any depth, in JSON as well."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollscope import vocabulary as v
from rollscope.redact import REDACTED, Redactor, Withheld
from rollscope.settings import Redaction

SECRET = "sk-abc123XYZ"
KEYS = Redactor(Redaction(keys=("*.password", "api_key")))
PATTERN = Redactor(Redaction(patterns=(r"sk-\w+",)))


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ({"db.password": "x"}, {"db.password": REDACTED}),
        ({"API_KEY": b"x"}, {"API_KEY": REDACTED.encode()}),
        ({"login": {"password": 5, "name": "mia"}}, {"login": {"password": REDACTED, "name": "mia"}}),
        ({"list": [{"api_key": ["x"]}, "y"]}, {"list": [{"api_key": REDACTED}, "y"]}),
        ({"password": "only below something"}, {"password": "only below something"}),
    ],
)
def test_keys_replace_what_stands_under_them(given: dict[str, Any], left: dict[str, Any]) -> None:
    """By their own name or with the names above it, in any case, whatever kind the value is of."""
    assert KEYS.attributes(given) == left


def test_json_in_texts_is_looked_into_and_stays_json() -> None:
    """Also JSON within JSON, as the arguments of a tool call in a list of messages are."""
    arguments = json.dumps({"token": SECRET, "login": {"password": "hunter2"}, "città": "Pisa"})
    messages = json.dumps([{"role": "assistant", "tool_calls": [{"function": {"name": "login", "arguments": arguments}}]}])
    redactor = Redactor(Redaction(keys=("*.password",), patterns=(r"sk-\w+",)))
    (left,) = redactor.attributes({v.MESSAGES_INPUT: messages}).values()
    (message,) = json.loads(left)
    clean = json.loads(message["tool_calls"][0]["function"]["arguments"])
    assert clean == {"token": REDACTED, "login": {"password": REDACTED}, "città": "Pisa"}


def test_a_value_may_be_called_by_its_neighbour() -> None:
    """`name` or `key` beside `value`, as headers and environments are listed."""
    redactor = Redactor(Redaction(keys=("password", "x.api_key")))
    given = [{"name": "password", "value": SECRET}, {"key": "user", "value": "mia"}, {"name": "password", "values": [1]}]
    assert redactor.attributes({"x": [*given, {"key": "api_key", "value": {"a": SECRET}}]}) == {
        "x": [{"name": "password", "value": REDACTED}, *given[1:], {"key": "api_key", "value": REDACTED}]
    }
    assert json.loads(redactor.text("env", json.dumps(given))) == [{"name": "password", "value": REDACTED}, *given[1:]]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('args: {"password": "hunter2", "a": 1}', 'args: {"password": "[redacted]", "a": 1}'),
        ("{'user': 'mia', 'password': 'it\\'s'}", "{'user': 'mia', 'password': '[redacted]'}"),
        ('{"a": 1}\n{"password": 12, "b": 2}', '{"a": 1}\n{"password": [redacted], "b": 2}'),
        ('{"password": "hunter2', '{"password": "[redacted]'),
        ('cut {"a": "{\\"password\\": \\"hunter2\\", \\"b\\"', 'cut {"a": "{\\"password\\": \\"[redacted]\\", \\"b\\"'),
        ('x "password": {"old": ["hunter2"]} y', 'x "password": [redacted] y'),
        ('x "password": {"old": ["hunter2"', 'x "password": [redacted]'),
        ('no "secret" password: here', 'no "secret" password: here'),
        ('"password":', '"password":'),
    ],
)
def test_keys_are_found_in_texts_that_are_no_json(text: str, left: str) -> None:
    """Lines of JSON, Python's `repr`, JSON within prose, JSON that was cut."""
    assert Redactor(Redaction(keys=("password",))).text("body", text) == left


@pytest.mark.parametrize("text", ['{"a": 1.50}', "[ ]", '{"a": 1, "a": 2}', "{no json", ' "x"', "null", "12"])
def test_a_text_with_nothing_to_hide_is_left_to_the_letter(text: str) -> None:
    """JSON is not written anew for nothing."""
    assert PATTERN.text("body", text) == text


@pytest.mark.parametrize(
    "text",
    [
        SECRET,
        f"key={SECRET};",
        json.dumps({SECRET: 1}),
        json.dumps({"a": "\ud83d\ude80 " + SECRET}),
        json.dumps(SECRET),
        f'{{"a": "{SECRET}',
    ],
)
def test_patterns_find_texts_names_of_keys_and_what_escapes_hide(text: str) -> None:
    """Wherever the secret stands it is gone."""
    hidden = text.replace("sk-", "\\u0073k-") if text.startswith(('{"a": "\\', '"')) else text
    left = PATTERN.text("body", hidden)
    assert "abc123" not in left
    assert REDACTED in left


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"score": float("nan"), "login": {"password": "hunter2"}}),
        json.dumps({"half": "\ud83d", "login": {"password": "hunter2"}}),
        "\ufeff" + json.dumps({"login": {"password": "hunter2"}}),
    ],
    ids=["NaN", "half a surrogate pair", "byte order mark"],
)
def test_what_pythons_json_writes_beyond_json_hides_nothing(text: str) -> None:
    """It is looked into all the same."""
    assert json.loads(KEYS.text("body", text))["login"]["password"] == REDACTED


def test_bytes_that_are_text_are_looked_at() -> None:
    """Others are left alone, as are those under names of the vocabulary, which are packed numbers."""
    given = {"said": f"my key is {SECRET}".encode(), "raw": b"\xff" + SECRET.encode(), v.TOKENS_LEAD: SECRET.encode()}
    assert PATTERN.attributes(given) == {**given, "said": f"my key is {REDACTED}".encode()}


def test_a_pattern_may_be_written_for_the_text_of_json() -> None:
    """Keys and quotes included; then the text may cease to be JSON, and the secret is gone all the same."""
    redactor = Redactor(Redaction(patterns=(r'"pin": \S+(?=[,}])',)))
    assert redactor.text("body", '{"pin": "0815", "ok": 1}') == f'{{{REDACTED}, "ok": 1}}'


def test_numbers_are_looked_at_as_text_where_they_are_the_programs_own() -> None:
    """In JSON, and under names that are not the vocabulary's; a metric stays a number whatever it is."""
    redactor = Redactor(Redaction(patterns=(r"\d{16}",)))
    card = 4111111111111111
    left = redactor.attributes({"card": card, v.GEN_AI_TOOL_CALL_ARGUMENTS: json.dumps({"card": card}), v.METRICS: {"loss": float(card)}})
    assert left["card"] == REDACTED
    assert json.loads(left[v.GEN_AI_TOOL_CALL_ARGUMENTS]) == {"card": REDACTED}
    assert left[v.METRICS] == {"loss": float(card)}


def test_ids_stay() -> None:
    """Records are joined by them: no pattern and no key takes them."""
    ids = {v.RUN_ID: "0123456789abcdef", v.TRAJECTORY_ID: "0" * 32, v.PRODUCER_ID: "1234567812345678", v.PRODUCER_SEQUENCE: 1234567890}
    assert Redactor(Redaction(keys=("*",), patterns=(r"[0-9a-f]{4,}",))).attributes(ids) == ids


def test_a_function_sees_every_text_with_its_key() -> None:
    """What it returns takes the text's place; patterns look at the result."""
    redactor = Redactor(Redaction(function="posixpath:join", patterns=("b/c",)))
    assert redactor.attributes({"a": "b", "b": {"c": ["c", 1, None]}}) == {"a": "a/b", "b": {"c": ["c/c", 1, None]}}
    assert redactor.attributes({"b": "c"}) == {"b": REDACTED}


@pytest.mark.parametrize("function", ["builtins:len", "operator:add", "sys:exit", "operator:truediv"])
def test_where_a_function_fails_the_record_is_withheld(function: str) -> None:
    """Whatever it raises, also what it returns in place of text; the reason does not quote the record."""
    redactor = Redactor(Redaction(function=function if function != "operator:add" else "operator:is_"))
    with pytest.raises(Withheld, match=r"^redaction failed: ") as raised:
        redactor.whole(lambda: redactor.attributes({"a": SECRET}))
    assert SECRET not in str(raised.value)
    assert not redactor.replaced


@pytest.mark.parametrize("name", ["nowhere:f", "os:nowhere", "os:sep", "os"])
def test_a_function_that_cannot_be_had_is_named(name: str) -> None:
    """At start."""
    with pytest.raises(ValueError, match=f"redact.function '{name}'"):
        Redactor(Redaction(function=name))


def test_what_is_nested_without_end_is_withheld() -> None:
    """A text of ten thousand brackets costs no stack."""
    nested: Any = SECRET
    for _ in range(200):
        nested = [nested]
    with pytest.raises(Withheld):
        PATTERN.whole(lambda: PATTERN.attributes({"a": nested}))
    assert PATTERN.text("a", "[" * 10_000 + "]" * 10_000)


def test_what_was_replaced_is_counted_by_what_found_it() -> None:
    """Each value once per match."""
    redactor = Redactor(Redaction(keys=("k",), patterns=("secret",)))
    redactor.attributes({"k": "x", "a": "secret secret", "b": "nothing"})
    assert redactor.replaced == {"keys": 1, "patterns": 2}


_json = st.recursive(
    st.none() | st.booleans() | st.text(max_size=8) | st.just(SECRET),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


@given(_json, st.integers(0, 3))
def test_the_secret_is_nowhere(value: Any, wraps: int) -> None:
    """In any value, as often as it was wrapped into JSON, and what is redacted once stays as it is the second time."""
    text: Any = {"value": value}
    for _ in range(wraps):
        text = {"json": json.dumps(text)}
    once = PATTERN.attributes(text)
    assert SECRET.encode() not in msgspec.json.encode(once)
    assert PATTERN.attributes(once) == once
