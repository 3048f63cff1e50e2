"""The fast digest, without what `hashlib` loads beside it: OpenSSL, which takes 3 ms and is of no use to it."""

from __future__ import annotations

try:
    from _blake2 import blake2b  # what `hashlib.blake2b` is, in CPython 3.10 to 3.13; a test holds it
except ImportError:
    from hashlib import blake2b

__all__ = ["blake2b"]
