"""Whether a command line of the documentation exists: its program, sub-command, options, targets and variables."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path

from .blocks import ROOT

_HARMLESS = {"cd", "cat", "ls", "tail", "source", "sudo", "git", "kill"}
"""Programs of the system, shown for context."""
_OPTIONED = {"rollscope", "mlflow"}
"""Programs that are asked for their help."""


_FOREIGN = {
    "docker",
    "kubectl",
    "sbatch",
    "systemctl",
    "install",
    "prometheus",
    "promtool",
    "jaeger",
    "rollscope-collector",
    "rollscope-relay",
}
"""Programs that are not asked; the files of ours that they are given must exist."""


class UnknownCommandError(AssertionError):
    """When the documentation tells a reader to run something that does not exist."""


def check(line: str) -> None:
    """Raise `UnknownCommandError` when `line` would not work as written. Comments and empty lines pass."""
    words = shlex.split(line, comments=True)
    words = words[1:] if words[:1] == ["export"] else words
    while words and re.fullmatch(r"[A-Z_0-9]+=.*", words[0]):
        _check_variable(words.pop(0).partition("=")[0])
    if not words or words[0] in _HARMLESS:
        return
    program, *arguments = words
    checks = {"make": _check_make, "pip": _check_pip, "python": _check_python}
    if program in _OPTIONED:
        _check_options(program, arguments)
    elif program in checks:
        checks[program](arguments)
    elif program in _FOREIGN:
        _check_files(arguments)
    else:
        raise UnknownCommandError(f"{program}: not a program this documentation knows")


def _check_make(arguments: list[str]) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for argument in arguments:
        if "=" not in argument and argument not in targets:
            raise UnknownCommandError(f"make {argument}: no such target")


def _check_pip(arguments: list[str]) -> None:
    extras = re.findall(r"^(\w+) = \[", (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    asked = [name for argument in arguments for names in re.findall(r"\[([\w,]+)\]", argument) for name in names.split(",")]
    if unknown := set(asked) - set(extras):
        raise UnknownCommandError(f"pip install: no extra named {', '.join(sorted(unknown))}")


def _check_python(arguments: list[str]) -> None:
    if arguments[0] == "-m":
        _check_options(sys.executable, arguments)
    elif not (ROOT / arguments[0]).exists():
        raise UnknownCommandError(f"python {arguments[0]}: no such file")


def _check_files(arguments: list[str]) -> None:
    for path in (argument.rpartition("=")[2] for argument in arguments):
        if path.startswith("collector-config/") and not (ROOT / path).exists():
            raise UnknownCommandError(f"{path}: no such file")


def _check_options(program: str, arguments: list[str]) -> None:
    """Ask the program's own help about its sub-command and options."""
    fixed = arguments[:2] if arguments[:1] == ["-m"] else [word for word in arguments[:2] if re.fullmatch(r"[a-z]+", word)]
    text = _help(program, *fixed) or _help(program, *fixed[:1])
    if text is None:
        raise UnknownCommandError(f"{program} {' '.join(fixed)}: not a command")
    for option in (argument.partition("=")[0] for argument in arguments[len(fixed) :] if argument.startswith("-")):
        if not re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text):
            raise UnknownCommandError(f"{program} {' '.join(fixed)}: no option {option}")


@cache
def _help(program: str, *words: str) -> str | None:
    place = Path(sys.executable).parent / program
    command = [str(place) if place.exists() else program, *words, "--help"]
    result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    return result.stdout if result.returncode == 0 else None


@cache
def _known_variables() -> frozenset[str]:
    sources = [
        *(ROOT / "instrumentation").rglob("*.py"),
        *(ROOT / "exporters").rglob("*.py"),
        *(ROOT / "collector-config").rglob("*.*"),
        ROOT / "tools" / "environment.py",
    ]
    return frozenset(name for path in sources for name in re.findall(r"\b(?:ROLLSCOPE|OTEL)_\w+", path.read_text(encoding="utf-8")))


def _check_variable(name: str) -> None:
    # Nested settings are spelled from the configuration's keys, and the OTLP variables from a prefix.
    prefixed = name.startswith(("ROLLSCOPE__", "OTEL_EXPORTER_OTLP_"))
    if name.startswith(("ROLLSCOPE", "OTEL")) and not prefixed and name not in _known_variables():
        raise UnknownCommandError(f"{name}: no such environment variable")
