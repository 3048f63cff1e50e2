"""The redactors of a node: one for each setting that its processes ask for, the node's own added to each."""

from __future__ import annotations

import time

from ..redact import Redactor
from ..settings import Redaction

_AGAIN = 10.0
"""Seconds after which a function that could not be had is looked for again."""


class Redactors:
    """Makes them when they are first needed; `node` is what the shipper's own environment asks for."""

    def __init__(self, node: Redaction) -> None:
        self._node = node
        self._made: dict[Redaction, Redactor] = {}
        self._failed: dict[Redaction, tuple[float, str]] = {}

    def of(self, asked: Redaction) -> Redactor | None:
        """Return the redactor for what one process asked for; None where nothing is to be redacted.

        Raises `ValueError` while a function cannot be had: then nothing of that process may be sent.
        """
        if not (asked or self._node):
            return None
        if asked in self._made:
            return self._made[asked]
        until, reason = self._failed.get(asked, (0.0, ""))
        if time.monotonic() < until:
            raise ValueError(reason)
        try:
            made = self._made[asked] = Redactor(asked, self._node)
        except ValueError as error:
            self._failed[asked] = (time.monotonic() + _AGAIN, str(error))
            raise
        return made
