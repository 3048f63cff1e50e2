"""What became of every record: produced, received, delivered, set aside, missing; and the verdict.

The pipeline keeps the numbers (`states`, `sequences`, `totals`); `read_ledger` puts them together with the workers' positions,
reading only, while the bridge runs and after it has ended.
"""

from .model import BackendLine, Ledger, ProducerLine, RunLedger
from .read import read_ledger

__all__ = ["BackendLine", "Ledger", "ProducerLine", "RunLedger", "read_ledger"]
