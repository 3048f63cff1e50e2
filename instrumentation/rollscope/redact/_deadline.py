"""A bound on what one record's redaction may take: a regular expression can run for years, a user's function for ever.

Why a deadline and not an engine in linear time (google-re2): patterns stay Python's, with look-around and back references; the
user's function needs the bound as well; and nothing is added to what a training environment installs. `re` looks for signals
while it matches, so an alarm ends it. Signals reach the main thread only: that is where the shipper and the bridge's pipeline work;
in another thread there is no bound.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType

_LONGEST, _SHORTEST = 1.0, 0.02
_SLOWER, _QUICKER = 1.05, 0.5


class TooLong(BaseException):
    """Raised where the time is up; no `except Exception` of a user's function holds it up."""


class Deadline:
    """Context manager: `with deadline: …` raises `TooLong` in it after a second.

    Each time that happens the next one gets half of the time, 20 ms at least, and a little more with each that is in time: what
    stalls again and again costs two seconds once, and then little.
    """

    def __init__(self) -> None:
        self.seconds = _LONGEST
        self._armed = False

    def __enter__(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        self._armed = True
        self._before = signal.signal(signal.SIGALRM, self._ring)
        signal.setitimer(signal.ITIMER_REAL, self.seconds)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if not self._armed and not isinstance(error, TooLong):
            return
        self._armed = False
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, self._before)
        factor = _QUICKER if isinstance(error, TooLong) else _SLOWER
        self.seconds = min(_LONGEST, max(_SHORTEST, self.seconds * factor))

    def _ring(self, number: int, frame: FrameType | None) -> None:
        if self._armed:
            self._armed = False
            raise TooLong
