"""JSONL: one file per signal and run, rotated by size, exact after a crash.

`_shape` turns a record into plain JSON, `_file` keeps one file, `_backend` drives.
"""

from ._backend import JsonlBackend, JsonlConfig, files_of

__all__ = ["JsonlBackend", "JsonlConfig", "files_of"]
