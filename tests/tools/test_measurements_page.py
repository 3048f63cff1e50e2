"""The page of measurements is what was measured."""

from __future__ import annotations

import json

from tools import measurements_page as page


def test_the_page_is_the_kept_run() -> None:
    """`docs/measurements.md` is generated from the result that is kept, and says when and where it was measured."""
    run = json.loads(page.RESULT.read_text())
    written = (page.RESULT.parents[2] / "docs" / "measurements.md").read_text()
    assert written == page.render()
    assert run["machine"] in written
    assert run["date"] in written


def test_ours_stands_beside_the_library() -> None:
    """A backend's two sides make one row with their ratio; a side that could not be measured leaves its place empty."""
    measured = {
        "X, on disk, 1,000 steps, ours": {"cpu_s": 3.0, "mib": 4.0},
        "X, on disk, 1,000 steps, direct": {"cpu_s": 2.0, "mib": 16.0},
        "Y, 1,000 steps, ours": {"cpu_s": 3.0},
    }
    assert list(page.compared(measured))[2:] == [
        "| X, on disk | 1,000 steps | CPU s | 3 | 2 | 1.5 |",
        "| X, on disk | 1,000 steps | MiB | 4 | 16 | 0.25 |",
        "| Y | 1,000 steps | CPU s | 3 |  |  |",
    ]


def test_a_quick_run_says_so() -> None:
    """Figures of a quick run carry the warning that they are not to be quoted."""
    run = json.loads(page.RESULT.read_text())
    assert ("not to be quoted" in page.render()) is run["quick"]
