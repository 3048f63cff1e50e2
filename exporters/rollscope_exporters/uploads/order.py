"""One upload as it lies on disk."""

from __future__ import annotations

import hashlib

import msgspec

from ..records import Artifact


class Order(msgspec.Struct, kw_only=True):
    """What is to be uploaded, and how far that is."""

    artifact: Artifact
    target: dict[str, str] = {}
    """Where to, in the backend's terms."""
    done: list[str] = []
    """Files that are there."""
    failed: str = ""
    """Why it was given up."""
    finished: bool = False

    @property
    def key(self) -> str:
        """Equal for every repetition of the record."""
        return hashlib.sha256(f"{self.artifact.run}\0{self.artifact.uid}".encode()).hexdigest()[:32]

    @property
    def open(self) -> bool:
        """Whether there is something left to do."""
        return not self.finished and not self.failed


encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder(Order).decode
