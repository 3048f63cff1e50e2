"""Build the Collector, its Kafka relay or Jaeger from source, once for each manifest, and print the binary's path.

Sources come through the Go module proxy. A binary lies in the cache folder under a name made of what determines it: the
manifest, the builder's version and the Go toolchain. It is built aside under a lock and renamed when it is whole.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tools.environment import ROOT, cache_folder, locked

MANIFESTS = ROOT / "collector-config" / "build"
BUILDER = "go.opentelemetry.io/collector/cmd/builder@v0.161.0"
"""Builds manifests of its own and of later releases."""
JAEGER = "github.com/jaegertracing/jaeger/cmd/jaeger"

NAMES: dict[str, str] = {"gateway": "rollscope-collector", "relay": "rollscope-relay", "jaeger": "jaeger"}
"""What can be built → the binary's name."""


class BuildError(Exception):
    """When something cannot be built; the message ends with the cure."""


def go() -> str:
    """Return the path of the Go toolchain."""
    found = shutil.which("go")
    if found is None:
        raise BuildError("go is not on the path: install Go 1.24 or newer")
    return found


def place(what: str) -> Path:
    """Return where the binary of `what` lies or will lie."""
    toolchain = subprocess.run([go(), "env", "GOVERSION", "GOOS", "GOARCH"], check=True, capture_output=True, text=True).stdout
    digest = hashlib.sha256("\0".join([_manifest(what).read_text(encoding="utf-8"), BUILDER, toolchain]).encode()).hexdigest()[:16]
    return cache_folder() / f"{what}-{digest}" / NAMES[what]


def ensure(what: str) -> Path:
    """Return the path of a complete binary, building it when it is not there (minutes the first time)."""
    binary = place(what)
    if binary.exists():
        return binary
    binary.parent.parent.mkdir(parents=True, exist_ok=True)
    with locked(binary.parent.with_suffix(".lock")):
        if not binary.exists():
            _build(what, binary)
    return binary


def _manifest(what: str) -> Path:
    return MANIFESTS / ("jaeger.mod" if what == "jaeger" else f"{what}.yaml")


def _build(what: str, binary: Path) -> None:
    print(f"building {binary.name} from source (once; minutes)", file=sys.stderr)
    aside = binary.parent.with_suffix(".partial")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    if what == "jaeger":
        shutil.copy(_manifest(what), aside / "go.mod")
        run(aside, go(), "build", "-mod=mod", "-o", binary.name, JAEGER)
    else:
        run(aside, go(), "install", BUILDER, env={**os.environ, "GOBIN": str(aside)})
        text = _manifest(what).read_text(encoding="utf-8").replace("dist:\n", f"dist:\n  output_path: {aside}\n", 1)
        (aside / "manifest.yaml").write_text(text, encoding="utf-8")
        run(aside, str(aside / "builder"), "--config", "manifest.yaml")
    binary.parent.mkdir()
    (aside / binary.name).rename(binary)
    shutil.rmtree(aside)


def run(folder: Path, *command: str, env: dict[str, str] | None = None) -> None:
    """Run a build's command in `folder`. Raises BuildError with the end of what it said."""
    done = subprocess.run(command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise BuildError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-4000:]}")


def main() -> int:
    """Print one path a line on standard output; everything else goes to standard error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", choices=[*NAMES, []], default=[], help="what to build (default: gateway)")
    try:
        for what in parser.parse_args().what or ["gateway"]:
            print(ensure(what))
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
