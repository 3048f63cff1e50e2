"""Starting a process that outlives us and holds nothing of ours."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

_SAFE_PATH = "PYTHONSAFEPATH"
# A file of the user's called `json.py` in the working directory must not become our json. Python 3.10 knows no switch for that.
_WITHOUT_SWITCH = """\
import sys
sys.path[:] = filter(None, sys.path)
import runpy
runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
"""
# A shell between us and the process: it ends at once, so that no child of ours stays behind for a trainer's `wait` to trip over.
_BACKGROUND = '"$@" </dev/null &'


def start_detached(module: str, arguments: Sequence[str], env: Mapping[str, str], output: Path, *, keep: Sequence[int] = ()) -> None:
    """Run `python -m module arguments…` in a session of its own, its output appended to `output`.

    `keep` are descriptors that the process inherits; all others are closed. Raises `OSError`.
    """
    command = [sys.executable or "python3", *_run_module(), module, *arguments]
    with open(output, "ab", opener=_private) as file:
        shell = subprocess.Popen(
            ["/bin/sh", "-c", _BACKGROUND, "sh", *command],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            env=_environment(env),
            start_new_session=True,
            close_fds=True,
            pass_fds=keep,
        )
    shell.wait()


def _run_module() -> list[str]:
    return ["-m"] if sys.version_info >= (3, 11) else ["-c", _WITHOUT_SWITCH]


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _environment(env: Mapping[str, str]) -> dict[str, str]:
    environment = {**env, _SAFE_PATH: "1"}
    root = str(Path(__file__).parents[2])
    if "site-packages" not in root and root not in environment.get("PYTHONPATH", "").split(os.pathsep):
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, (environment.get("PYTHONPATH"), root)))
    return environment
