"""Where the API key comes from: the environment or a file of its own, never `rollscope.yaml`."""

from __future__ import annotations

from pathlib import Path

import pytest

from rollscope_exporters.settings import SettingsError, load


def test_a_key_in_the_configuration_is_refused(tmp_path: Path) -> None:
    """The error names the variable that takes it, and does not repeat it."""
    path = tmp_path / "r.yaml"
    path.write_text("backends:\n  wandb: {api_key: hunter2}\n")
    with pytest.raises(SettingsError) as caught:
        load(path, {})
    text = str(caught.value)
    assert "backends.wandb.api_key: a secret has no place in this file" in text
    assert "Set ROLLSCOPE__BACKENDS__WANDB__API_KEY, or `api_key_file: PATH`." in text
    assert "hunter2" not in text


def test_a_key_is_read_from_its_file(tmp_path: Path) -> None:
    """`api_key_file` names it."""
    secret, path = tmp_path / "key", tmp_path / "r.yaml"
    secret.write_text("k" * 40 + "\n")
    path.write_text(f"backends: {{wandb: {{api_key_file: {secret}}}}}\n")
    assert load(path, {}).backends == {"wandb": {"api_key": "k" * 40}}
