"""`docs/destinations.md`: written out of what was read back, and read again to be compared."""

from __future__ import annotations

from pathlib import Path

from .facts import SECTIONS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "destinations.md"
COLUMNS = {
    "mlflow": "MLflow",
    "wandb": "W&B",
    "swanlab": "SwanLab",
    "tensorboard": "TensorBoard",
    "trackio": "trackio",
    "jsonl": "JSONL",
    "console": "console",
    "jaeger": "Jaeger",
    "prometheus": "Prometheus",
}
INTRODUCTION = """# What each destination holds

Written by `make destinations`; do not edit. [A program](../tests/destinations/program.py) records a little of everything, its records take
the road through agent, gateway and bridge into all destinations at once, each is then read back with its own tools, and
[a test](../tests/destinations/test_destinations.py) compares this page with what was found.

✓ is there, as it was recorded; a word behind it says in which form. A word without ✓: less than what was recorded. –: not there.

W&B, SwanLab, TensorBoard and trackio hold *sampled* trajectories, whole groups of each step (`digest_rows`), MLflow as many as it can take;
JSONL and Jaeger hold all. What was left out is counted in [the ledger](ledger.md) by name, for each destination. W&B and SwanLab were read
in their offline and local forms; how a server takes them is tested with stand-ins. Weave gets the spans that Jaeger gets, of conversations
only ([Collector](collector.md)). In every mode but `local` SwanLab has what hosts measure in its system view.
"""


def render(columns: dict[str, dict[str, str]]) -> str:
    """Return the page; `columns` is destination → fact → cell."""
    head = "| | " + " | ".join(COLUMNS.values()) + " |"
    parts = [INTRODUCTION]
    for section, facts in SECTIONS.items():
        rows = [f"| {label} | " + " | ".join(columns[name][fact] for name in COLUMNS) + " |" for fact, label in facts.items()]
        parts.append("\n".join([f"## {section}", "", head, "|---" * (len(COLUMNS) + 1) + "|", *rows, ""]))
    return "\n".join(parts)


def columns_of(text: str) -> dict[str, dict[str, str]]:
    """Return what a page says, destination → fact → cell."""
    facts = {label: fact for section in SECTIONS.values() for fact, label in section.items()}
    found: dict[str, dict[str, str]] = {name: {} for name in COLUMNS}
    for line in text.splitlines():
        label, *cells = [cell.strip() for cell in line.strip("|").split(" | ")] if line.startswith("| ") else [""]
        for name, cell in zip(COLUMNS, cells, strict=True) if label in facts else ():
            found[name][facts[label]] = cell
    return found
