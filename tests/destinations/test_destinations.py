"""Every destination at once: the demo read back from each, and the page that says what each holds of each signal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.destinations.facts import SECTIONS, Held, cell, wanted
from tests.destinations.page import COLUMNS, PAGE, columns_of, render
from tests.fixtures.collector import EveryDestination

pytestmark = [
    pytest.mark.integration,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning"),  # MLflow's own
]
BY_ADDRESS = {"jaeger", "prometheus"}


@pytest.fixture(scope="module")
def told(travelled: EveryDestination, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the program said that recorded a little of everything, after all of it had arrived."""
    folder = tmp_path_factory.mktemp("program")
    tokenizer = travelled.storage / "tool_rl" / "tokenizer.json"
    command = [sys.executable, "-m", "tests.destinations.program", str(tokenizer), str(folder), str(folder / "told.json")]
    done = subprocess.run(command, env=travelled.recording, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads((folder / "told.json").read_text())
    travelled.until(lambda: travelled.verdict(said["run"]) == "complete", "the program's run is not complete", 120)
    return {**said, "demo": travelled.demo_run}


def column(name: str, stack: EveryDestination, told: dict[str, Any]) -> Held:
    """What one destination holds of the program's run."""
    reader = import_module(f"tests.destinations.reading.{name}")
    held: Held = reader.read(stack if name in BY_ADDRESS else stack.storage, told)
    return held


def cells(name: str, stack: EveryDestination, told: dict[str, Any]) -> dict[str, str]:
    """A destination's column of the page."""
    want = wanted(told, column("jsonl", stack, told))
    held = column(name, stack, told)
    return {fact: cell(fact, want[fact], held) for facts in SECTIONS.values() for fact in facts}


@pytest.mark.parametrize("name", COLUMNS)
def test_the_page_says_what_a_destination_holds(name: str, travelled: EveryDestination, told: dict[str, Any]) -> None:
    """Read back with its own tools, a destination has exactly the facts that its column says, in the forms that it says."""
    found = until_it_is_there(name, travelled, told)
    if os.environ.get("ROLLSCOPE_WRITE_PAGE"):
        old = columns_of(PAGE.read_text(encoding="utf-8")) if PAGE.exists() else {}
        every = {other: old.get(other) or dict.fromkeys(found, "?") for other in COLUMNS}
        PAGE.write_text(render({**every, name: found}), encoding="utf-8")
    assert found == columns_of(PAGE.read_text(encoding="utf-8"))[name], "run `make destinations`"


def test_the_page_is_generated() -> None:
    """Nothing stands in the page that its generator does not write."""
    text = PAGE.read_text(encoding="utf-8")
    assert text == render(columns_of(text)), "run `make destinations`"


def until_it_is_there(name: str, stack: EveryDestination, told: dict[str, Any]) -> dict[str, str]:
    """Jaeger and Prometheus are not in the ledger: what they do not have yet comes within a minute."""
    deadline = time.monotonic() + (60 if name in BY_ADDRESS else 0)
    while True:
        try:
            return cells(name, stack, told)
        except (AssertionError, KeyError, ValueError, StopIteration, OSError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)
