"""Build the programs that deployment files are checked with, once for each version, and print their paths.

`kustomize` puts manifests together as `kubectl kustomize` does; `compose` is the loader that Docker Compose is built on.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

from tools.collector import BuildError, go, run
from tools.environment import cache_folder, locked

MODULES: dict[str, tuple[str, str]] = {
    "kustomize": ("sigs.k8s.io/kustomize/kustomize/v5@v5.7.1", "kustomize"),
    "compose": ("github.com/compose-spec/compose-go/v2/cmd@v2.9.1", "cmd"),
}
"""What can be built → its Go package with version, and the name that Go gives the program."""


def ensure(what: str) -> Path:
    """Return the path of a complete program, building it when it is not there. Raises BuildError."""
    package, name = MODULES[what]
    binary = cache_folder() / f"{what}-{package.rpartition('@')[2]}" / what
    if binary.exists():
        return binary
    cache_folder().mkdir(parents=True, exist_ok=True)
    with locked(binary.parent.with_suffix(".lock")):
        if not binary.exists():
            print(f"building {what} from source (once)", file=sys.stderr)
            aside = binary.parent.with_suffix(".partial")
            shutil.rmtree(aside, ignore_errors=True)
            aside.mkdir()
            run(aside, go(), "install", package, env={**os.environ, "GOBIN": str(aside)})
            (aside / name).rename(aside / what)
            aside.rename(binary.parent)
    return binary


def main() -> int:
    """Print one path a line on standard output; everything else goes to standard error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", choices=[*MODULES, []], default=[], help="what to build (default: all)")
    try:
        for what in parser.parse_args().what or MODULES:
            print(ensure(what))
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
