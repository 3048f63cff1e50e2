"""Uploads of checkpoints: ordered by a backend when their record comes, done beside it, one file after the other.

`order` is one upload on disk, `check` holds files against what was recorded of them, `queue` is the folder of orders and tells the ledger
what is left of them and what failed. The thread that works orders off is the backends' (`backends._uploader`).
"""

from .check import ChangedError, Listed, check_file, place_of, reachable_files
from .order import Order
from .queue import OrderFolder, Upload, read_uploads, under_way

__all__ = [
    "ChangedError",
    "Listed",
    "Order",
    "OrderFolder",
    "Upload",
    "check_file",
    "place_of",
    "reachable_files",
    "read_uploads",
    "under_way",
]
