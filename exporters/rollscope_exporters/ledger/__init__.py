"""What became of every record: produced, received, delivered, set aside, missing; and the verdict.

The pipeline keeps the numbers (`states`, `sequences`, `totals`); `read_ledger` puts them together with the workers' positions
(`producer_lines`, `backend_lines`), reading only, while the bridge runs and after it has ended, and `verdict` says what they mean.
"""

from .model import BackendLine, Ledger, ProducerLine, RunLedger
from .read import read_ledger

__all__ = ["BackendLine", "Ledger", "ProducerLine", "RunLedger", "read_ledger"]
