"""How a run ends: on the server with everything that belongs to it, or in one folder that any `wandb sync` takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ._files import RunFiles
from ._history import History
from ._server import Unreachable
from ._writer import INTERRUPTED, RowWriter

if TYPE_CHECKING:
    from wandb import Artifact as WandbArtifact

    Published = tuple[WandbArtifact, list[str] | None]
    """An artifact and its aliases."""


def deliver(writer: RowWriter, exit_code: int, summary: Mapping[str, object]) -> None:
    """Finish online, and make sure that everything arrived. Raises `UnavailableError`."""
    project = writer.identity().project
    if writer.client is None or not writer.client.online:
        writer.server.rows(project, writer.id)  # while it does not answer, the open folder stays as it is
        writer.close(INTERRUPTED, interrupted=True)
        writer.open_online()
    client, artifacts = writer.opened(), writer.artifacts
    if artifacts.owed:
        artifacts.log_all(client)
    client.summarize(summary)
    artifacts.settle(client)
    writer.close(exit_code)
    there = writer.server.rows(project, writer.id)
    missing, lacking = writer.taken - there, len(writer.media.lacking(project, writer.id, there))
    if missing > 0 or lacking or artifacts.owed:
        raise Unreachable(f"W&B at {writer.server.base_url} still lacks {missing} rows, {lacking} of their files or some artifact")
    writer.files.clear_needs_sync()
    artifacts.clear()


def finish_offline(
    writer: RowWriter, exit_code: int, summary: Mapping[str, object], published: Iterable[Published], merge_bytes: int
) -> None:
    """End the run; folders that restarts left are joined into one first, which any `wandb sync` takes, up to `merge_bytes` of them.

    `published`: artifacts of the folders that are joined, besides those that are kept.
    """
    client = writer.opened()
    old = writer.history.folders
    join = len(old) > 1 and writer.history.size() <= merge_bytes
    if join:
        writer.close(INTERRUPTED, interrupted=True)
        client = writer.open_folder(online=False)
    if len(old) > 1 or writer.artifacts.owed:
        writer.copy(client, 0 if join else writer.taken)
    for made, aliases in published if join else ():
        client.hand_over(made, aliases)
    client.summarize(summary)
    writer.close(exit_code)
    if join:
        writer.files.mark_joined(client.folder.name)
        remove_joined(writer.files, writer.history)
    elif len(old) > 1:
        writer.files.mark_needs_sync(f"{len(old)} folders are too large to be joined (merge_bytes)", exit_code)
    writer.artifacts.clear()


def remove_joined(files: RunFiles, history: History) -> None:
    """Remove folders whose rows stand in the one that they were joined into."""
    if joined := files.joined:
        history.remove([folder for folder in history.folders if folder.name != joined])
        files.clear_joined()
