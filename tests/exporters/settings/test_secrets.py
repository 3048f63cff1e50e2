"""Secrets come from the environment or from files of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from rollscope_exporters.settings import SettingsError, load


def test_a_secret_in_the_file_is_refused_and_not_repeated(tmp_path: Path) -> None:
    """The error says where to put it and does not print it."""
    path = tmp_path / "r.yaml"
    path.write_text("listen:\n  token: hunter2\nbackends:\n  mlflow: {token: hunter3}\n")
    with pytest.raises(SettingsError) as caught:
        load(path, {})
    text = str(caught.value)
    assert "r.yaml:2: listen.token: a secret has no place in this file. Set ROLLSCOPE__LISTEN__TOKEN, or `token_file: PATH`." in text
    assert "backends.mlflow.token: a secret has no place" in text
    assert "hunter" not in text


@pytest.mark.parametrize("address", ["http://me:hunter2@h:5000", "postgresql+psycopg2://me:hunt/er2@h/d", "http://h/?token=hunter2"])
def test_an_address_with_a_password_is_refused_in_the_file_and_taken_from_the_environment(tmp_path: Path, address: str) -> None:
    """The error says where else to put it and does not print it."""
    path = tmp_path / "r.yaml"
    path.write_text(f"backends:\n  mlflow:\n    tracking_uri: {address}\n")
    with pytest.raises(SettingsError) as caught:
        load(path, {})
    assert str(caught.value) == (
        f"{path}:3: backends.mlflow.tracking_uri: an address with a password has no place in this file. "
        "Set ROLLSCOPE__BACKENDS__MLFLOW__TRACKING_URI to it, or leave it out and set `password_file: PATH`."
    )
    settings = load(path, {"ROLLSCOPE__BACKENDS__MLFLOW__TRACKING_URI": address})
    assert settings.backends == {"mlflow": {"tracking_uri": address}}


def test_a_secret_is_read_from_its_file(tmp_path: Path) -> None:
    """`token_file` names a file that holds the secret alone; line ends do not belong to it."""
    secret, path = tmp_path / "secret", tmp_path / "r.yaml"
    secret.write_text("s3cret\n")
    path.write_text(f"listen: {{token_file: {secret}}}\nbackends: {{mlflow: {{password_file: {secret}}}}}\n")
    settings = load(path, {})
    assert settings.listen.token is not None
    assert settings.listen.token.get_secret_value() == "s3cret"
    assert settings.backends == {"mlflow": {"password": "s3cret"}}


def test_the_variable_wins_over_the_file_of_the_secret(tmp_path: Path) -> None:
    """The environment lies over the configuration here too."""
    path = tmp_path / "r.yaml"
    path.write_text("listen: {token_file: /nowhere}\n")
    settings = load(path, {"ROLLSCOPE__LISTEN__TOKEN": "mine"})
    assert settings.listen.token is not None
    assert settings.listen.token.get_secret_value() == "mine"


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """A secret that is not there is an error at start."""
    path = tmp_path / "r.yaml"
    path.write_text("listen: {token_file: /nowhere/at/all}\n")
    with pytest.raises(SettingsError, match=r"r\.yaml:1: listen\.token_file: /nowhere/at/all cannot be read"):
        load(path, {})


def test_secrets_are_not_printed() -> None:
    """Neither by repr nor by a dump."""
    settings = load(None, {"ROLLSCOPE__LISTEN__TOKEN": "hunter2"})
    assert "hunter2" not in repr(settings) + str(settings.model_dump(mode="json"))
