"""What the driver records about its run when it begins."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from .. import circumstances as surroundings
from .. import vocabulary as v
from ..records import PRIORITY_RUN
from ..secrets import mask_config
from ..settings import Limits
from . import gate
from .recorder import Recorder
from .sanitise import Sanitiser

__all__ = ["announce"]

_PATIENCE = 0.1
"""Seconds `init` waits for git and the like; what comes later is recorded by the same event once more."""
_HARDER = 4


def announce(
    recorder: Recorder,
    *,
    config: Mapping[str, Any] | None,
    tags: Iterable[str],
    notes: str,
    backends: list[str],
    dataset: str | None,
    digest: str | None,
    circumstances: bool,
) -> None:
    """Record `rl.run.started`: at once, and again with the circumstances that took longer to find. Never raises."""
    with gate.guard("announce", "dropped"):
        attributes: dict[str, object] = {
            v.RUN_CONFIG: _json(mask_config(config or {}), recorder),
            v.RUN_TAGS: [str(tag) for tag in tags],
            v.RUN_NOTES: notes,
            v.RUN_BACKENDS: backends,
            v.TOKENIZER_DIGEST: recorder.tokenizer,
            v.DATASET_NAME: dataset,
            v.DATASET_DIGEST: digest,
        }
        attributes = {name: value for name, value in attributes.items() if value not in (None, "", [])}
        if circumstances:
            about = {name: value for name, value in (("name", dataset), ("digest", digest)) if value}
            _Announcement(recorder, attributes, {"dataset": about} if about else {}).make()
        else:
            recorder.event(v.EVENT_RUN_STARTED, attributes, priority=PRIORITY_RUN)


class _Announcement:
    """One `rl.run.started` whose circumstances are gathered in part by a thread."""

    def __init__(self, recorder: Recorder, attributes: dict[str, object], known: dict[str, object]) -> None:
        self._recorder = recorder
        self._attributes = attributes
        self._found: dict[str, object] = {**surroundings.quick(), **known}
        self._time = recorder.now()
        self._epoch = recorder.epoch
        self._done = threading.Event()
        self._lock = threading.RLock()
        self._written = False

    def make(self) -> None:
        """Record the event; again from the thread if that is not done in time."""
        threading.Thread(target=self._gather, name="rollscope-circumstances", daemon=True).start()
        self._done.wait(_PATIENCE)
        with self._lock:
            self._write()
            self._written = True

    def _gather(self) -> None:
        with gate.guard("circumstances"):
            slow = surroundings.slow()
            with self._lock:
                self._found.update(slow)
                if self._written and slow and self._recorder.journal is not None and self._epoch == self._recorder.epoch:
                    self._write()
        self._done.set()

    def _write(self) -> None:
        text = _json(self._found, self._recorder)
        self._recorder.event(v.EVENT_RUN_STARTED, {**self._attributes, v.RUN_CIRCUMSTANCES: text}, priority=PRIORITY_RUN, time=self._time)


def _json(value: object, recorder: Recorder) -> str:
    """Return JSON text below the limit of a string value; of a larger map the longest strings and lists are cut, not its end."""
    whole = limits = recorder.limits
    text = _encode(value, limits)
    while len(text) > whole.value_length and limits.value_length > _HARDER:
        limits = msgspec.structs.replace(limits, value_length=limits.value_length // _HARDER, items=limits.items // _HARDER + 1)
        text = _encode(value, limits)
    return text


def _encode(value: object, limits: Limits) -> str:
    return msgspec.json.encode(Sanitiser(limits).value(value)).decode()
