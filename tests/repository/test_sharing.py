"""What tests share is made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.distribution import COSTLY, costly
from tests.fixtures.once import made_once


def test_modules_with_a_costly_fixture_go_to_one_worker(request: pytest.FixtureRequest) -> None:
    """None asks for one in a way that the scheduler, which sees nothing but files, does not recognise."""
    asking = {item.path for item in request.session.items if COSTLY.keys() & set(getattr(item, "fixturenames", ()))}
    assert [path for path in sorted(asking) if not costly(path)] == []


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
