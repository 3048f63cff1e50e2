"""The bridge's database: what the pipeline commits, workers read and the ledger is computed from."""

from ._errors import NewerStoreError, NoStoreError, StoreError
from .store import OutboxRow, RunRow, Store

__all__ = ["NewerStoreError", "NoStoreError", "OutboxRow", "RunRow", "Store", "StoreError"]
