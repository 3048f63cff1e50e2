"""The durable log between the parts: one process writes a folder, others read it while it is written.

In: bytes, by priority. Out: the same bytes with their sequence numbers, in order, also after the writer was killed.
"""

from ._alive import is_alive
from ._counters import Counters
from ._cursor import Entry
from ._errors import BYTE_LIMIT, DISK_FULL, JournalError
from ._filesystem import check_local
from ._format import LANES, Position
from ._held import Place
from ._reader import LogReader, list_logs
from ._writer import Journal

__all__ = [
    "BYTE_LIMIT",
    "DISK_FULL",
    "LANES",
    "Counters",
    "Entry",
    "Journal",
    "JournalError",
    "LogReader",
    "Place",
    "Position",
    "check_local",
    "is_alive",
    "list_logs",
]
