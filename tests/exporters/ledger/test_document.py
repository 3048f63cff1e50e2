"""docs/ledger.md names every key of the JSON."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from rollscope_exporters.ledger.model import BackendLine, Ledger, ProducerLine, RunLedger, SetAsideLine

PAGE = Path(__file__).parents[3] / "docs" / "ledger.md"


@pytest.mark.parametrize("kind", [Ledger, RunLedger, ProducerLine, BackendLine, SetAsideLine])
def test_every_key_is_documented(kind: type[msgspec.Struct]) -> None:
    """A key that is not on the page is a promise nobody knows of."""
    page = PAGE.read_text()
    assert [name for name in kind.__struct_fields__ if f"`{name}`" not in page] == []
