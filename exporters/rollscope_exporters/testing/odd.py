"""Values and names that destinations choke on."""

from __future__ import annotations

import math

from rollscope import vocabulary as v

from ..records import Artifact, Record, Reward, Scalar, StepMetrics, Table, Trace
from .samples import NOW, Sampler

ODD_NAMES: tuple[str, ...] = (
    "mean@4", "mean_at_4", "mean_x40_4", "mean@@4", "_at_", "@", "a//b", "a/b", "/a", "a/", "a/./b", "a/../b", "a=b", "a b", "a,b", "a%b",
    "a#b", "a(b)", "a[0]", "a:b", "a.b", "奖励/平均", "reward 🙂", "tab\there", "n" * 300, "n" * 299 + "m", ".", "..",
)  # fmt: skip
"""Names of metrics that differ although many a library would make some of them equal."""


def odd_metrics(sampler: Sampler, step: int = 1) -> StepMetrics:
    """One record with every odd name, each with its own value."""
    values: dict[str, Scalar] = {name: float(place) for place, name in enumerate(ODD_NAMES)}
    return StepMetrics(run=sampler.run, time=sampler.moment(step), step=step, values=values)


def odd_records(sampler: Sampler) -> list[Record]:
    """Return records that are allowed and strange."""
    text = "nul \0 tab \t bell \a 换行\n 🙂 \N{RIGHT-TO-LEFT OVERRIDE} ￿"
    attributes: dict[str, object] = {
        "text": text,
        "key \0 🙂": 1, "": "empty key", "none": None, "bytes": b"\x00\xff", "nan": math.nan, "inf": -math.inf, "wide": (1 << 64) - 1,
        "nested": {"list": [1, [2, {"a": None}]], "deep": {"b": {"c": [text]}}}, "long": "x" * 70_000, v.REWARD_VALUE: math.nan,
    }  # fmt: skip
    trace = sampler.trace(7)
    odd_span = sampler.span(trace.trace_id, text, trace.spans[0], attributes)
    trajectory = sampler.trajectory(1, f"odd {text}", messages=_messages(text), outcome="failed")
    rewards = [
        Reward(value=math.nan, name="nan", components={"inf": math.inf, text: 1.0}, explanation=text, uid="odd-1"),
        Reward(value=-math.inf, name=text, uid="odd-2"),
        Reward(value=0.5, name="", uid=""),
    ]
    changes = {"rewards": rewards, "agent": text, "facts": attributes, "metrics": {"nan": math.nan}, "incomplete": "2 spans are missing"}
    values: dict[str, Scalar] = {
        "odd/nan": math.nan, "odd/inf": math.inf, "odd/minus": -math.inf, "odd/bool": True, "odd/text": text, "odd/wide": (1 << 63) - 1,
        "odd/tiny": 5e-324, "odd/minus_zero": -0.0,
    }  # fmt: skip
    return [
        StepMetrics(run=sampler.run, time=NOW, step=1, values=values),
        StepMetrics(run=sampler.run, time=0, step=None, values={"odd/no_step": 1.0}),
        StepMetrics(run=sampler.run, time=NOW, step=1, values={"accuracy": 0.5}, split="validation"),
        Trace(run=sampler.run, trace_id=trace.trace_id, spans=[*trace.spans, odd_span]),
        type(trajectory)(**{name: changes.get(name, getattr(trajectory, name)) for name in trajectory.__struct_fields__}),
        Table(
            run=sampler.run, name=f"odd/{text}", step=None, time=NOW, rows=[{text: text, "nan": math.nan, "bytes": b"\x00"}, {}], uid="odd"
        ),
        Table(run=sampler.run, name="odd/none", step=1, time=NOW, rows=[], uid="none"),
        Artifact(run=sampler.run, name="../../odd/./🙂 name", time=NOW, content=b"\0\xff", aliases=[text]),
        Artifact(run=sampler.run, name="elsewhere", time=NOW, uri="s3://bucket/checkpoint", type="model", size=1 << 40),
    ]


def _messages(text: str) -> list[dict[str, object]]:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    return [
        {"role": "user", "content": [{"type": "text", "text": text}, image], "name": text},
        {
            "role": "assistant",
            "content": "",
            "reasoning": text,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": text, "arguments": "{not json"}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": ""},
        {"role": "assistant", "content": None},
        {"role": "unheard of", "content": text, "extra": {"deep": [1, None]}},
    ]
