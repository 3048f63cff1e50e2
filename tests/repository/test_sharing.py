"""What tests share is made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.distribution import COSTLY, shared_by
from tests.fixtures.once import made_once


def test_modules_with_a_costly_fixture_go_to_one_worker(request: pytest.FixtureRequest) -> None:
    """Every module that asks for a costly fixture is dealt to that fixture's worker."""
    asking = {(item.path, name) for item in request.session.items for name in COSTLY.keys() & set(getattr(item, "fixturenames", ()))}
    assert [(path, name) for path, name in sorted(asking) if shared_by(path) != COSTLY[name]] == []


def test_a_file_is_made_by_one_and_whole_for_all(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whoever asks gets the same file; who fails while he makes it leaves nothing behind that others would take."""

    def fail(path: Path) -> None:
        path.write_text("half")
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        made_once(tmp_path_factory, "shared.txt", fail)
    made = [made_once(tmp_path_factory, "shared.txt", lambda path, text=text: path.write_text(text)) for text in ("first", "second")]
    assert made[0] == made[1]
    assert made[0].read_text() == "first"
