"""Texts cut to size."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rollscope_exporters.cut import cut


def test_long_text_is_cut_and_says_so() -> None:
    """A text over the limit ends in what is missing and why, never within a character."""
    assert cut("你" * 100, 100, "max_bytes") == "你" * 33 + "… [200 bytes cut by max_bytes]"


@given(text=st.text(max_size=200), limit=st.integers(1, 300))
def test_cutting_never_splits_a_character(text: str, limit: int) -> None:
    """And leaves alone what fits."""
    found = cut(text, limit, "limit")
    if len(text.encode("utf-8", "surrogatepass")) <= limit:
        assert found == text
    else:
        assert text.startswith(found.partition("… [")[0])
