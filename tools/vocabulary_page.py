"""Generate `docs/vocabulary.md` from `rollscope.vocabulary`: `python -m tools.vocabulary_page [--check]`."""

from __future__ import annotations

import sys

from rollscope.vocabulary import GEN_AI_GENERATION, PROPOSALS, REGISTRY, SCHEMA_URL, Entry, Kind

from .page import write_or_check

_SECTIONS: dict[Kind, tuple[str, str]] = {
    "resource": ("Resource attributes", "Once per process."),
    "span": ("Spans", "Names are of low cardinality; details are attributes."),
    "event": ("Events", "OTLP log records with an event name."),
    "metric": ("Metrics", "What the shipper derives for Prometheus, and its own health."),
    "scope": ("Scopes", "Instrumentation scopes; user code names its own."),
    "attribute": ("Attributes", "Of spans, events and log records."),
}

_INTRODUCTION = f"""# Vocabulary

Every name that rollscope writes. Generated from `rollscope.vocabulary` by `make docs`; do not edit.

`gen_ai.*` names are of one generation of the GenAI semantic conventions, {GEN_AI_GENERATION} (`{SCHEMA_URL}`), the last one published
within the OpenTelemetry semantic conventions. Everything of our own is `rl.*`, for which two proposals are open. Where one of
them names the same thing, we take its name; the column *proposal* says which and where. *near* marks a name for something
close to ours that means less or more, so that taking it would mislead.
"""


def render() -> str:
    """Return the whole page."""
    proposals = "\n".join(f"- **{letter}**: {place}" for letter, place in PROPOSALS.items())
    sections = [_section(kind, title, about) for kind, (title, about) in _SECTIONS.items()]
    return "\n".join([_INTRODUCTION, proposals, "", *sections])


def _section(kind: Kind, title: str, about: str) -> str:
    rows = [_row(entry) for (of, _), entry in sorted(REGISTRY.items(), key=lambda item: item[0][1]) if of == kind]
    return "\n".join([f"## {title}", "", about, "", "| name | type | unit | meaning | proposal |", "|---|---|---|---|---|", *rows, ""])


def _row(entry: Entry) -> str:
    unit = f"`{entry.unit}`" if entry.unit else ""
    return f"| `{entry.name}` | {entry.type} | {unit} | {entry.meaning} | {entry.proposal} |"


if __name__ == "__main__":
    sys.exit(write_or_check("vocabulary.md", render(), "tools.vocabulary_page"))
