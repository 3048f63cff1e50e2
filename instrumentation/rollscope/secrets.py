"""Keeping secrets out of what is recorded about a run: its command line, its configuration, its uncommitted changes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from .importing import importing

__all__ = ["MASK", "has_password", "is_secret_name", "mask_arguments", "mask_config", "mask_text"]

MASK = "***"

# `pad_token`, `max_tokens` and `tokenizer` are no secrets; `hf_token` is.
_WORDS = (
    r"(?:api_?key|secret(?:_?key)?|password|passwd|passphrase|credentials?|access_?key|private_?key|authorization"
    r"|(?:auth|access|api|bearer|refresh|session|hf|hub|huggingface|wandb|github|gh)_?token)"
)
# Compiled when they are first used, by `re`, which keeps them: 3 ms that `import rollscope` does not pay.
_SECRET_NAME = rf"(?i)(?:^|[_.]){_WORDS}$|^token$"
_SECRET_VALUE = (
    r"\b(?:sk-[\w\-]{16,}|hf_\w{16,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|xox[abprs]-[\w\-]{10,}|AKIA[0-9A-Z]{16}|glpat-[\w\-]{16,}"
    r"|eyJ[\w\-]{10,}\.[\w\-]{10,}\.[\w\-]+)"
)
_ASSIGNMENT = (
    rf"""(?i)(?P<name>(?<![\w.\-])(?:[\w.\-]*[_.\-])?(?:{_WORDS.replace("_?", "[_-]?")}|(?<![\w.\-])token))"""
    r"""(?P<between>["']?\s*[:=]\s*["']?)(?P<value>[^\s"',;#]+)"""
)
_USER_INFO = r"(?<=://)[^/@\s]+@"
_PASSWORD = r"(?i)://[^/@\s:]*:[^/@\s]+@|^(?!https?:)[a-z][\w+.\-]*://[^/@\s:]*:[^@\s]+@"
"""The password of a database may have a slash in it; behind a web server's port a path begins there."""
_PRIVATE_KEY = r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"


def is_secret_name(name: str) -> bool:
    """Return whether a setting of that name holds a secret."""
    return re.search(_SECRET_NAME, name.strip().lstrip("-+").replace("-", "_")) is not None


def has_password(address: str) -> bool:
    """Return whether a password stands in an address: `scheme://user:password@host`, or in its query under a secret name."""
    with importing:
        from urllib.parse import parse_qsl  # 3 ms, which `import rollscope` does not pay

    query = address.partition("://")[2].partition("?")[2]
    return re.search(_PASSWORD, address) is not None or any(is_secret_name(name) for name, _ in parse_qsl(query))


def mask_text(text: str) -> str:
    """Mask key blocks, well-known token forms, credentials in URLs and the values of assignments to secret names."""
    text = re.sub(_PRIVATE_KEY, MASK, text)
    text = _without_credentials(text)
    return re.sub(_ASSIGNMENT, rf"\g<name>\g<between>{MASK}", text)


def mask_arguments(arguments: Sequence[str]) -> list[str]:
    """Mask the secrets of a command line: `--api-key X`, `--api-key=X`, `trainer.hf_token=X`, tokens by their form."""
    masked: list[str] = []
    for argument in arguments:
        before = masked[-1] if masked else ""
        is_value = before.startswith("-") and "=" not in before and is_secret_name(before) and not argument.startswith("-")
        masked.append(MASK if is_value else mask_text(argument))
    return masked


def mask_config(value: object, name: str = "") -> object:
    """Return a copy of a configuration in which values under secret names, and tokens by their form, are masked."""
    if isinstance(value, Mapping):
        return {key: mask_config(item, str(key)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [mask_config(item, name) for item in value]
    if isinstance(value, str) and value:
        return MASK if is_secret_name(name) else _without_credentials(value)
    return value


def _without_credentials(text: str) -> str:
    return re.sub(_USER_INFO, f"{MASK}@", re.sub(_SECRET_VALUE, MASK, text))
