"""The generated vocabulary page."""

from __future__ import annotations

from pathlib import Path

import pytest

from rollscope.vocabulary import REGISTRY
from tools import page, vocabulary_page


def test_the_page_in_the_repository_is_up_to_date() -> None:
    """`docs/vocabulary.md` is what the vocabulary gives."""
    assert (page.DOCS / "vocabulary.md").read_text(encoding="utf-8") == vocabulary_page.render()


def test_every_name_has_a_row() -> None:
    """Each name of each kind is one table row."""
    rows = [line for line in vocabulary_page.render().splitlines() if line.startswith("| `")]
    assert len(rows) == len(REGISTRY)


def test_check_tells_an_outdated_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """`--check` changes nothing and fails with the line to run; without it the page is written."""
    monkeypatch.setattr(page, "DOCS", tmp_path)
    monkeypatch.setattr("sys.argv", ["page", "--check"])
    assert page.write_or_check("x.md", "new", "tools.x") == 1
    assert "make docs" in capsys.readouterr().err
    assert not (tmp_path / "x.md").exists()

    monkeypatch.setattr("sys.argv", ["page"])
    assert page.write_or_check("x.md", "new", "tools.x") == 0
    monkeypatch.setattr("sys.argv", ["page", "--check"])
    assert page.write_or_check("x.md", "new", "tools.x") == 0
