"""docs/configuration.md says what the model says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import yaml
from pydantic import BaseModel

from rollscope_exporters.settings import Settings, load
from rollscope_exporters.settings._secrets import models_in
from rollscope_exporters.settings.document import attribute_docstrings, document

PAGE = Path(__file__).parents[3] / "docs" / "configuration.md"


def test_the_page_is_up_to_date() -> None:
    """Run `python -m rollscope_exporters.settings.document docs/configuration.md` when this fails."""
    assert PAGE.read_text(encoding="utf-8") == document()


def test_the_example_on_the_page_loads(tmp_path: Path) -> None:
    """It is a configuration, not a drawing of one."""
    text = document().split("```yaml\n")[1].split("```")[0]
    (tmp_path / "r.yaml").write_text(text)
    assert load(tmp_path / "r.yaml", {}).backends is not None
    assert set(yaml.safe_load(text)) <= set(Settings.model_fields)


def test_every_key_is_described() -> None:
    """A key without a sentence is not finished."""
    assert [key for key, text in _described(Settings) if not text] == []


def test_docstrings_below_fields_are_read() -> None:
    """Backends describe their keys where they stand."""

    class Example(BaseModel):
        first: int = 1
        """What the first is."""
        second: int = 2

    assert attribute_docstrings(Example) == {"first": "What the first is."}


def _described(model: type[BaseModel]) -> Iterator[tuple[str, str]]:
    for name, info in model.model_fields.items():
        yield name, info.description or ""
        for below in models_in(info.annotation):
            yield from _described(below)
