"""Build the virtual environment that `make` works in, once for what is asked for, and print its path.

Needs only the standard library. The environment lies in a cache folder under a name made of everything that determines
it; it is built aside and renamed when whole, under a lock, so that an interrupted or a second run never meets half of one.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = ROOT / "requirements" / "constraints.txt"
_UV_NAMES = {"DEFAULT_INDEX": "INDEX_URL", "INDEX": "EXTRA_INDEX_URL", "FIND_LINKS": "FIND_LINKS"}
UV = "uv>=0.4,<1"
"""pip alone takes minutes over what uv does in seconds."""


def cache_folder() -> Path:
    """Return `ROLLSCOPE_CACHE`, else `rollscope` in the user's cache folder."""
    if chosen := os.environ.get("ROLLSCOPE_CACHE"):
        return Path(chosen).resolve()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rollscope"


def environment_key(extra: str, root: Path = ROOT) -> str:
    """Digest of all that decides what the environment holds: requirements, interpreter, extra and, as it is editable, the checkout."""
    parts = [extra, sys.version, sysconfig.get_platform(), str(root)]
    parts += [(root / name).read_text(encoding="utf-8") for name in ("pyproject.toml", "requirements/constraints.txt")]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def ensure(extra: str) -> Path:
    """Return the path of a complete environment, building it when it is not there."""
    place = cache_folder() / f"env-{environment_key(extra)}"
    if place.exists():
        return place
    place.parent.mkdir(parents=True, exist_ok=True)
    with locked(place.with_suffix(".lock")):
        if not place.exists():
            _build(place, extra)
    return place


def remove() -> None:
    """Delete this checkout's environments."""
    for place in cache_folder().glob("env-*"):
        checkout = place / "checkout"
        if checkout.exists() and checkout.read_text(encoding="utf-8") == str(ROOT):
            shutil.rmtree(place)
            place.with_suffix(".lock").unlink(missing_ok=True)


def _build(place: Path, extra: str) -> None:
    print(f"setting up {place} (once; needs a package index)", file=sys.stderr)
    aside = place.with_suffix(".partial")
    shutil.rmtree(aside, ignore_errors=True)
    boot = aside / "uv"
    uv = install_uv(boot)
    # Relocatable: the scripts' first lines must hold after the rename.
    _run(uv, "venv", "--quiet", "--relocatable", "--python", sys.executable, str(aside / "env"))
    _install(uv, str(boot / "bin/pip"), str(aside / "env/bin/python"), extra)
    (aside / "env" / "checkout").write_text(str(ROOT), encoding="utf-8")
    (aside / "env").rename(place)
    shutil.rmtree(aside)


def install_uv(folder: Path) -> str:
    """Make a virtual environment with uv in `folder` and return uv's path."""
    _run(sys.executable, "-m", "venv", str(folder))
    _run(str(folder / "bin/pip"), "install", "--quiet", "--disable-pip-version-check", UV)
    return str(folder / "bin/uv")


def _install(uv: str, pip: str, python: str, extra: str) -> None:
    what = ("--constraint", str(CONSTRAINTS), "--editable", f"{ROOT}[{extra}]")
    try:
        _run(uv, "pip", "install", "--quiet", "--python", python, *what)
    except subprocess.CalledProcessError:
        print("uv could not do it; trying with pip, which takes a few minutes", file=sys.stderr)
        _run(pip, "--python", python, "install", "--quiet", "--disable-pip-version-check", *what)


def _run(*command: str) -> None:
    subprocess.run(command, check=True, stdout=sys.stderr, cwd=ROOT, env=uv_environment(os.environ))


def uv_environment(env: Mapping[str, str]) -> dict[str, str]:
    """Return `env` with uv told what pip knows by other names: index, wheel folders, the system's certificates."""
    known = {f"UV_{ours}": env.get(f"PIP_{theirs}") for ours, theirs in _UV_NAMES.items()}
    return {"UV_SYSTEM_CERTS": "1", "UV_NATIVE_TLS": "1", **{name: value for name, value in known.items() if value}, **env}


@contextmanager
def locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def main() -> int:
    """Print the environment's path on standard output; everything else goes to standard error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--extra", default="dev", help="extra of the distribution to install (default: %(default)s)")
    parser.add_argument("--remove", action="store_true", help="delete this checkout's environments instead")
    options = parser.parse_args()
    if sys.version_info < (3, 10):  # noqa: UP036  (this file is what an older interpreter meets first)
        print(f"rollscope needs Python 3.10 or newer, this is {sys.version.split()[0]}: make PYTHON=python3.11 …", file=sys.stderr)
        return 1
    if options.remove:
        remove()
        return 0
    try:
        print(ensure(options.extra))
    except subprocess.CalledProcessError as error:
        print(f"set-up failed: {' '.join(error.cmd)} ended with {error.returncode}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
