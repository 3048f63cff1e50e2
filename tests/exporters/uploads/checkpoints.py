"""Checkpoints on disk and their records, and a place they can be uploaded to."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from rollscope_exporters.records import Artifact
from rollscope_exporters.uploads import Order


def checkpoint(folder: Path, files: dict[str, bytes]) -> Path:
    """Write a checkpoint."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def recorded(
    place: Path, *, uid: str = "u1", host: str = "", listed: bool = True, run: str = "run-1", aliases: tuple[str, ...] = ()
) -> Artifact:
    """What the record of a checkpoint says."""
    paths = sorted(path for path in place.rglob("*") if path.is_file()) if place.is_dir() else [place]
    files = [
        (path.relative_to(place).as_posix() if place.is_dir() else path.name, path.stat().st_size, path.stat().st_mtime_ns, "")
        for path in paths
    ]
    return Artifact(
        run=run, name="ckpt/step-10", time=1, type="model", uri=place.as_uri(), files=files if listed else [], host=host, uid=uid,
        aliases=list(aliases), upload=True, step=10,
    )  # fmt: skip


class FolderTarget:
    """Copies into a folder and writes down what it was asked; dies of `kill -9` behind a file when told."""

    def __init__(self, folder: Path, die_behind: str = "") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.die_behind = folder, die_behind

    def upload(self, order: Order, file: Path, name: str) -> None:
        """Copy one file."""
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_bytes(file.read_bytes())
        self.log(f"upload {name}")
        if name == self.die_behind:
            os.kill(os.getpid(), signal.SIGKILL)

    def finish(self, order: Order) -> None:
        """Write down the end."""
        self.log(f"finish {order.artifact.uid}")

    def log(self, line: str) -> None:
        """Append a line that survives."""
        with open(self.folder / "log.txt", "a") as file:
            file.write(line + "\n")

    @property
    def calls(self) -> list[str]:
        """All calls, over all processes."""
        return (self.folder / "log.txt").read_text().splitlines()
