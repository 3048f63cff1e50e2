"""Tests of keeping secrets out of records."""

from __future__ import annotations

import pytest

from rollscope.secrets import MASK, has_password, is_secret_name, mask_arguments, mask_config, mask_text

KEY = "sk-proj-abcdefghijklmnopqrstuvwxyz"


@pytest.mark.parametrize(
    "name",
    ["api_key", "--api-key", "OPENAI_API_KEY", "trainer.hf_token", "token", "password", "db.passwd", "client_secret", "wandb_token",
     "secret_key", "aws_secret_access_key", "private-key", "credentials", "authorization", "hub_token"],
)  # fmt: skip
def test_names_of_secrets_are_known(name: str) -> None:
    """Whatever separator or case they are written in."""
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "max_tokens",
        "tokenizer",
        "pad_token",
        "eos_token",
        "stop_token",
        "token_level_loss",
        "keys",
        "secretary",
        "key",
        "monkey",
        "n_tokens",
    ],
)
def test_names_of_training_settings_are_not_secrets(name: str) -> None:
    """A recorder that hides `pad_token` would be of no use."""
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    ("arguments", "masked"),
    [
        (["train.py", "--api-key", "abc", "--lr", "1e-6"], ["train.py", "--api-key", MASK, "--lr", "1e-6"]),
        (["--password=abc"], [f"--password={MASK}"]),
        (["trainer.hf_token=abc", "model.path=/m"], [f"trainer.hf_token={MASK}", "model.path=/m"]),
        (["--token", "--other"], ["--token", "--other"]),
        (["--model", KEY], ["--model", MASK]),
        (["--uri", "http://me:pw@host/x"], ["--uri", f"http://{MASK}@host/x"]),
        (["--max-tokens", "512", "--pad_token=<pad>"], ["--max-tokens", "512", "--pad_token=<pad>"]),
    ],
)
def test_secrets_of_a_command_line_are_masked(arguments: list[str], masked: list[str]) -> None:
    """As an argument of their own, behind an equals sign, in a URL, or known by their form."""
    assert mask_arguments(arguments) == masked


@pytest.mark.parametrize(
    ("address", "has"),
    [
        ("http://me:pw@host/x", True),
        ("postgresql://me:p/w@host/x", True),
        ("grpc://:pw@host", True),
        ("http://host/?access_token=pw&a=b", True),
        ("http://host:5000/@me", False),
        ("postgresql+psycopg2://me@host:5432/x", False),
        ("http://host/?max_tokens=5", False),
        ("me:pw@host", False),
    ],
)
def test_a_password_in_an_address_is_seen(address: str, has: bool) -> None:
    """Behind the user or in the query; a port, a path or a user alone is none."""
    assert has_password(address) is has


def test_secrets_of_a_configuration_are_masked_at_any_depth() -> None:
    """By name or by form; everything else is kept as it is."""
    config = {"lr": 1e-6, "logger": {"wandb": {"api_key": "abc"}}, "list": [{"password": "x"}, KEY], "pad_token": "<pad>", "token": None}
    assert mask_config(config) == {
        "lr": 1e-6,
        "logger": {"wandb": {"api_key": MASK}},
        "list": [{"password": MASK}, MASK],
        "pad_token": "<pad>",
        "token": None,
    }


@pytest.mark.parametrize(
    "text",
    [
        f"+    client = OpenAI(api_key='{KEY}')",
        "+API_KEY = 'hunter2-hunter2'",
        "+HF_TOKEN: hf_abcdefghijklmnopqrstuvwxyz",
        "+-----BEGIN RSA PRIVATE KEY-----\n+abc\n+-----END RSA PRIVATE KEY-----",
        "git@x https://user:ghp_abcdefghijklmnopqrstuvwxyz@github.com/a/b",
    ],
)
def test_secrets_in_a_diff_are_masked(text: str) -> None:
    """Nothing that looks like a key is left of an uncommitted change."""
    masked = mask_text(text)
    assert MASK in masked
    for secret in (KEY, "hunter2", "hf_abc", "+abc", "ghp_abc"):
        assert secret not in masked


def test_ordinary_code_is_left_alone() -> None:
    """A diff without secrets is what it was."""
    code = "def f(tokens: list[int], key=None):\n    return {'max_tokens': 5, 'url': 'http://host:1/x'}\n"
    assert mask_text(code) == code
