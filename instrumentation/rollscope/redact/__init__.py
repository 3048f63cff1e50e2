"""Taking out of records what must not leave the node.

The shipper does it before it encodes anything, the bridge before it stores what other programs sent. `settings.Redaction` says what,
`Redactor` applies one or several to plain values, `record` to journal records, `segment` to token ids and their text.
What cannot be redacted is withheld: `Withheld` is raised, and the record is counted instead of sent.
"""

from ._content import content, plain
from ._deadline import Deadline, TooLong
from ._kept import kept
from ._records import record
from ._redactor import MASKED, REDACTED, Redactor, Withheld
from ._segment import MASKED_ID, Segment, segment

__all__ = [
    "MASKED",
    "MASKED_ID",
    "REDACTED",
    "Deadline",
    "Redactor",
    "Segment",
    "TooLong",
    "Withheld",
    "content",
    "kept",
    "plain",
    "record",
    "segment",
]
