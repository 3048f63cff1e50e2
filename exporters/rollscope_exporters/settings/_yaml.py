"""Read a YAML file and remember on which line each key stands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from ._errors import Problem, SettingsError

KeyPath = tuple[str, ...]
"""Keys from the top, as in `("limits", "inbox")`."""


def read_yaml(path: Path) -> tuple[dict[str, Any], dict[KeyPath, int]]:
    """Return the document and the line of every key in it. Raises SettingsError."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise SettingsError([Problem(str(path), "", f"cannot be read: {error.strerror}")]) from None
    except UnicodeDecodeError as error:
        raise SettingsError([Problem(str(path), "", f"is not UTF-8: {error.reason} at byte {error.start}")]) from None
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            document = loader.construct_document(node) if node else {}
        finally:
            loader.dispose()
        if not isinstance(document, dict):
            raise SettingsError([Problem(f"{path}:1", "", "holds no map of keys", "Write `key: value` lines.")])
        return document, _lines(path, node, ())
    except yaml.YAMLError as error:
        raise SettingsError([_syntax(path, text, error)]) from None
    except RecursionError:
        raise SettingsError([Problem(str(path), "", "is nested too deeply, or holds an alias of what it stands in")]) from None


class _Loader(yaml.SafeLoader):
    """Says where a value stands that looks like a date or a number and is none."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except ValueError as error:
            raise yaml.constructor.ConstructorError(None, None, str(error), node.start_mark) from error


def _lines(path: Path, node: yaml.Node | None, at: KeyPath) -> dict[KeyPath, int]:
    if not isinstance(node, yaml.MappingNode):
        return {}
    lines: dict[KeyPath, int] = {}
    for key, value in node.value:
        here = (*at, str(key.value))
        line = key.start_mark.line + 1
        if here in lines:
            cause = f"stands twice, first on line {lines[here]}"
            raise SettingsError([Problem(f"{path}:{line}", ".".join(here), cause, "Keep one of them.")])
        lines[here] = line
        lines |= _lines(path, value, here)
    return lines


def _syntax(path: Path, text: str, error: yaml.YAMLError) -> Problem:
    if isinstance(error, yaml.reader.ReaderError):
        line = text.count("\n", 0, error.position) + 1
        return Problem(f"{path}:{line}", "", f"holds the character {text[error.position]!r}, which YAML does not allow")
    mark = getattr(error, "problem_mark", None)
    where = f"{path}:{mark.line + 1}" if mark else str(path)
    return Problem(where, "", f"is not valid YAML: {getattr(error, 'problem', None) or error}")
