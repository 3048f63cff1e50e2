"""Reads the host once an interval in a daemon thread: a driver that hangs holds up nothing, and nobody waits for it at the end."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from .reading import Reading

_KEPT = 6
"""Samples that wait to be fetched; older ones go."""
_log = logging.getLogger(__name__)


class _Reader(Protocol):
    def read(self) -> Iterator[Reading]: ...


class Sampler:
    """Samples from `start` on. `take` never waits."""

    def __init__(self, folder: Path, interval: float) -> None:
        """`interval`: seconds."""
        self._folder, self._interval = folder, interval
        self._samples: deque[tuple[int, list[Reading]]] = deque(maxlen=_KEPT)
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin, where that has not been done; the first sample comes after one interval."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="rollscope-hosts", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End soon; does not wait."""
        self._stop.set()

    def take(self) -> list[tuple[int, list[Reading]]]:
        """Samples since the last call: Unix time in ns, readings."""
        taken = []
        while self._samples:
            taken.append(self._samples.popleft())
        return taken

    def _run(self) -> None:
        readers = list(_readers(self._folder))
        while readers and not self._stop.wait(self._interval):
            now = time.time_ns()
            readings: list[Reading] = []
            for reader in list(readers):
                try:
                    readings += reader.read()
                except Exception as error:  # noqa: BLE001  # a driver may raise anything; host metrics are not worth a shipper
                    _log.error("%s stopped: %s: %s", type(reader).__name__, type(error).__name__, error)
                    readers.remove(reader)
            if readings:
                self._samples.append((now, readings))


def _readers(folder: Path) -> Iterator[_Reader]:
    try:
        from .system import SystemReader

        yield SystemReader(folder)
    except ImportError:
        _log.info("host metrics are off: psutil is not installed (pip install 'rollscope[system]')")
    try:
        from .gpus import GpuReader

        yield GpuReader()
    except Exception as error:  # noqa: BLE001  # no package, no driver, no GPU: each has an error of its own
        _log.info("no GPU metrics: %s: %s", type(error).__name__, error)
