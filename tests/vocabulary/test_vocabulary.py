"""The vocabulary is the only place of names, and its names are of one generation."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes

from rollscope import vocabulary
from rollscope.vocabulary import PROPOSALS, REGISTRY
from rollscope.vocabulary._registry import define

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [
    path for root in ("instrumentation", "exporters") for path in sorted((ROOT / root).rglob("*.py")) if "vocabulary" not in path.parts
]
RETIRED = {"gen_ai.system", "gen_ai.prompt", "gen_ai.completion", "gen_ai.usage.prompt_tokens", "gen_ai.usage.completion_tokens"}
"""Names of the generation up to 1.36."""


def names_written_in(source: str) -> Iterator[str]:
    """String constants that look like names of the vocabulary, docstrings left out."""
    tree = ast.parse(source)
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)}
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) and id(node) not in docstrings else None
        if isinstance(text, str) and re.match(r"(rl|gen_ai)\.[a-z]", text):
            yield text


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_names_are_written_in_the_vocabulary_only(path: Path) -> None:
    """No source file spells an `rl.*` or `gen_ai.*` name itself."""
    assert list(names_written_in(path.read_text(encoding="utf-8"))) == []


def test_the_check_sees_names_in_f_strings_and_calls() -> None:
    """The check above finds a name however it is spelled, and overlooks prose."""
    source = '"""rl.step in prose"""\nset("rl.run.id")\nx = f"gen_ai.tool.{name}"\ny = "url.path"\n'
    assert list(names_written_in(source)) == ["rl.run.id", "gen_ai.tool."]


def test_gen_ai_names_are_of_the_pinned_generation() -> None:
    """Every `gen_ai.*` attribute is published by the conventions and none is of the generation before."""
    published = {value for value in vars(gen_ai_attributes).values() if isinstance(value, str)}
    used = {name for kind, name in REGISTRY if kind == "attribute" and name.startswith("gen_ai.")}
    assert used <= published - RETIRED


def test_every_constant_is_in_the_registry() -> None:
    """A constant of the module is a registered name, so that the generated page misses none."""
    names = {name for _, name in REGISTRY}
    constants = {key: value for key, value in vars(vocabulary).items() if key.isupper() and isinstance(value, str) and value[-1] != "."}
    strangers = {key: value for key, value in constants.items() if value not in names}
    assert strangers == {"GEN_AI_GENERATION": vocabulary.GEN_AI_GENERATION, "SCHEMA_URL": vocabulary.SCHEMA_URL}


def test_a_name_has_one_definition() -> None:
    """Defining a name twice within its kind is refused, with the name in the message."""
    with pytest.raises(ValueError, match=r"attribute 'rl\.group\.id' is defined twice"):
        define("attribute", vocabulary.GROUP_ID, "string", "again")


def test_agreement_with_a_proposal_names_the_proposal() -> None:
    """What the proposal column says begins with the letters of known proposals, and an agreeing name is the proposal's."""
    for entry in REGISTRY.values():
        if entry.proposal:
            letters, name = re.fullmatch(r"(?:near: )?([A-Z](?:, [A-Z])*) `([^`]+)`.*", entry.proposal).groups()  # type: ignore[union-attr]
            assert set(letters.split(", ")) <= PROPOSALS.keys()
            assert entry.proposal.startswith("near: ") or name == entry.name


def test_no_name_is_the_namespace_of_another() -> None:
    """Within attributes no name is a prefix of another one's namespace, as the naming rules of OpenTelemetry ask."""
    names = {name for kind, name in REGISTRY if kind in ("attribute", "resource")}
    proposed = {"rl.system", "rl.algorithm", "rl.reward.score"}
    assert [name for name in names - proposed if any(other.startswith(f"{name}.") for other in names)] == []
