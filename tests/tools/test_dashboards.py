"""The generator of dashboards: the same boards give the same files, and stale files are named."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tools.dashboards import BOARDS, Board, Chart, Query, Row, __main__

pytestmark = pytest.mark.skipif(sys.version_info < (3, 11), reason="Grafana's SDK needs Python 3.11")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the generator writes to in a test."""
    monkeypatch.setattr(__main__, "FOLDER", tmp_path)
    monkeypatch.setattr(sys, "argv", ["dashboards"])
    return tmp_path


def test_what_was_written_is_up_to_date(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Written twice the files are the same, and the check is content."""
    assert __main__.main() == 0
    written = {path: path.read_text() for path in folder.iterdir()}
    assert __main__.main() == 0
    assert {path: path.read_text() for path in folder.iterdir()} == written
    assert len(written) == len(BOARDS)
    monkeypatch.setattr(sys, "argv", ["dashboards", "--check"])
    assert __main__.main() == 0


def test_stale_missing_and_foreign_files_are_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that differs, one that is not there and one that no board makes are all found."""
    __main__.main()
    (folder / "training.json").write_text("{}")
    (folder / "fleet.json").unlink()
    (folder / "other.json").write_text("{}")
    monkeypatch.setattr(sys, "argv", ["dashboards", "--check"])
    assert __main__.main() == 1
    assert "fleet.json, other.json, training.json" in capsys.readouterr().err


def test_kinds_of_panels() -> None:
    """Each kind becomes Grafana's panel of that sort, with the format its queries need."""
    from tools.dashboards.render import render

    charts = tuple(Chart(kind, (Query("up"),), kind) for kind in ("lines", "stack", "stat", "table", "heatmap", "steps"))
    panels = json.loads(render(Board("b", "B", "", (), (Row("r", charts),))))["panels"][1:]
    assert [(panel["type"], panel["targets"][0].get("format")) for panel in panels] == [
        ("timeseries", None), ("timeseries", None), ("stat", None), ("table", "table"), ("heatmap", "heatmap"),
        ("xychart", None),
    ]  # fmt: skip
    assert [panel["targets"][0].get("instant", False) for panel in panels] == [False, False, True, True, False, True]
    assert panels[1]["fieldConfig"]["defaults"]["custom"]["stacking"]["mode"] == "normal"
