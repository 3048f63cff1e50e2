"""Artifacts as the library makes them: content, a reference, or the files of a checkpoint with the digests they have already."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...records import Artifact
from .._plain import text
from .._protocol import RejectedError
from ._compat import add_file
from ._names import alias_key, artifact_key
from ._plain import plain

if TYPE_CHECKING:
    import wandb


def make_artifact(artifact: Artifact) -> wandb.Artifact:
    """The library's artifact of a record: its content, or a reference to where it lies. Raises `RejectedError` when it takes none such."""
    try:
        made: wandb.Artifact = _empty(artifact)
        if artifact.content is not None:
            _add_content(made, artifact)
        elif artifact.uri:
            _refer(made, artifact)
    except (ValueError, TypeError) as error:
        raise RejectedError(f"W&B takes no such artifact: {error}") from error
    return made


def make_checkpoint(artifact: Artifact, files: dict[str, tuple[Path, str]]) -> wandb.Artifact:
    """An artifact of files that stay where they are; `files`: name → place and digest. Raises `RejectedError`."""
    try:
        made: wandb.Artifact = _empty(artifact)
        for name, (place, digest) in files.items():
            add_file(made, name, place, digest)
    except (ValueError, TypeError) as error:
        raise RejectedError(f"W&B takes no such artifact: {error}") from error
    return made


def aliases_of(artifact: Artifact) -> list[str] | None:
    """Aliases of a version, None for the library's own."""
    return [alias_key(alias) for alias in artifact.aliases] or None


def _empty(artifact: Artifact) -> Any:
    import wandb

    facts = {"name": artifact.name, "digest": artifact.digest, "size": artifact.size, "step": artifact.step, "uri": artifact.uri}
    metadata = {key: plain(value) for key, value in facts.items() if value not in (None, "")}
    return wandb.Artifact(artifact_key(artifact.name), type=text(artifact.type)[:128] or "file", metadata=metadata)


def _add_content(made: Any, artifact: Artifact) -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(artifact.content or b"")
        file.flush()
        made.add_file(file.name, name=artifact_key(artifact.name), policy="mutable")


def _refer(made: Any, artifact: Artifact) -> None:
    """Add a reference; where the library lacks the cloud's client, a file that names the place."""
    import wandb

    try:
        made.add_reference(artifact.uri, name=artifact_key(artifact.name), checksum=False)
    except wandb.Error:
        with made.new_file("reference.txt", encoding="utf-8") as file:
            file.write(artifact.uri)
