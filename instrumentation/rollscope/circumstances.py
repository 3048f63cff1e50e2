"""What it takes to repeat a run: command line, code, versions, host, accelerators. No values of the environment are read.

`quick` reads only what lies at hand (a few ms); `slow` starts programs, each with a deadline, and belongs on a thread.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

from .secrets import mask_arguments, mask_text

__all__ = ["quick", "slow"]

_DEADLINE = 3.0
"""Seconds one program may take."""
_NVIDIA = Path("/proc/driver/nvidia")
_DIFF_LIMIT = 64 << 10
_DIST = re.compile(r"(?P<name>.+?)-(?P<version>\d[^-]*?)(?:-py[\d.]+)?\.(?:dist|egg)-info")


def quick() -> dict[str, object]:
    """Return command line (secrets masked), folder, Python, package versions, host."""
    return {
        "command": mask_arguments(getattr(sys, "orig_argv", sys.argv)),
        "folder": os.getcwd(),
        "python": platform.python_version(),
        "executable": sys.executable,
        "host": {
            "name": socket.gethostname(),
            "system": f"{platform.system()} {platform.release()} {platform.machine()}",
            "cpus": os.cpu_count(),
            "memory": _memory(),
        },
        "packages": _packages(),
    }


def slow() -> dict[str, object]:
    """Return git state and accelerators; what cannot be found is absent. Bounded by a few seconds."""
    found = {"git": _git(), "accelerators": _accelerators()}
    return {name: value for name, value in found.items() if value}


def _packages() -> dict[str, str]:
    """Read versions off the folder names of installed distributions: opening each one's metadata takes 100 ms."""
    versions: dict[str, str] = {}
    for folder in filter(os.path.isdir, sys.path):
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        for match in filter(None, map(_DIST.fullmatch, names)):
            versions.setdefault(match["name"].lower().replace("_", "-"), match["version"])
    return dict(sorted(versions.items()))


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return None


def _git() -> dict[str, object]:
    commit, _, branch = _run("git", "rev-parse", "HEAD", "--abbrev-ref", "HEAD").strip().partition("\n")
    if not commit:
        return {}
    status = _run("git", "status", "--porcelain", "--untracked-files=normal")
    state: dict[str, object] = {
        "commit": commit,
        "branch": branch,
        "remote": mask_text(_run("git", "config", "--get", "remote.origin.url").strip()),
        "dirty": bool(status.strip()),
    }
    if state["dirty"]:
        diff = _run("git", "diff", "--no-ext-diff", "--no-textconv", "--no-color", "HEAD", limit=_DIFF_LIMIT + 1)
        state["diff"] = mask_text(diff[:_DIFF_LIMIT])
        state["diff_cut"] = len(diff) > _DIFF_LIMIT
        state["untracked"] = [line[3:] for line in status.splitlines() if line.startswith("??")][:100]
    return state


def _accelerators() -> list[dict[str, str]]:
    """List GPUs as the kernel's driver lists them, which is at once; `nvidia-smi` can take seconds and is asked only where it must be."""
    return _nvidia_of_kernel() or _nvidia_of_program() or _amd()


def _nvidia_of_kernel() -> list[dict[str, str]]:
    found = []
    for information in sorted(_NVIDIA.glob("gpus/*/information")):
        lines = (line.partition(":") for line in _text(information).splitlines())
        about = {name.strip().lower(): value.strip() for name, _, value in lines}
        found.append({"name": about.get("model", "nvidia"), "uuid": about.get("gpu uuid", "")})
    version = re.search(r"Kernel Module\D*([\d.]+)", _text(_NVIDIA / "version")) if found else None
    return [{**gpu, "driver_version": version[1]} for gpu in found] if version else found


def _nvidia_of_program() -> list[dict[str, str]]:
    fields = ("name", "memory.total", "driver_version", "uuid")
    listed = _run("nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader")
    return [dict(zip(fields, (part.strip() for part in line.split(",")), strict=False)) for line in listed.splitlines()]


def _amd() -> list[dict[str, str]]:
    if not Path("/dev/kfd").exists():
        return []
    nodes = sorted(Path("/sys/class/drm").glob("renderD*"))
    return [{"name": "amd", "device": node.name} for node in nodes if _text(node / "device/vendor").strip() == "0x1002"]


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _run(program: str, *arguments: str, limit: int = 1 << 20) -> str:
    """Return the start of what a program prints, empty when it is missing, fails or takes too long."""
    path = shutil.which(program)
    if path is None:
        return ""
    quiet = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C.UTF-8"}
    try:
        with subprocess.Popen(
            [path, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=quiet
        ) as process:
            return _read(process, limit)
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _read(process: subprocess.Popen[bytes], limit: int) -> str:
    try:
        output, _ = process.communicate(timeout=_DEADLINE)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return output[:limit].decode("utf-8", "replace") if process.returncode == 0 else ""
