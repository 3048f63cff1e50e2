"""Maps of files that keep no descriptor.

Before Python 3.13 an `mmap` duplicates the descriptor that it is given, and closes that number when it is let go of, whoever's it is by
then. One without a file has none; the system is told to put the file in its place.
"""

from __future__ import annotations

import functools
import mmap
import os
import sys
from collections.abc import Callable
from typing import Final

from ..importing import importing

_MAP_FIXED: Final = 0x10

if sys.version_info >= (3, 13):

    def map_file(fd: int, size: int) -> mmap.mmap:
        """Map `size` bytes of `fd`, which may be closed then. Raises `OSError`."""
        return mmap.mmap(fd, size, trackfd=False)

else:

    def map_file(fd: int, size: int) -> mmap.mmap:
        """Map `size` bytes of `fd`, which may be closed then. Raises `OSError`."""
        put = _put()
        if put is None:
            return mmap.mmap(fd, size)
        area = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        try:
            put(area, fd, size)
        except BaseException:
            area.close()
            raise
        return area


@functools.cache
def _put() -> Callable[[mmap.mmap, int, int], None] | None:
    """Return what puts a file in the place of an anonymous map; None where this interpreter cannot call the C library."""
    try:
        with importing:
            import ctypes  # 6 ms, which `import rollscope` does not pay

        call = ctypes.CDLL(None, use_errno=True).mmap
    except (ImportError, AttributeError, OSError, MemoryError):  # the last: a system that forbids memory to be written and run
        return None
    call.restype = ctypes.c_void_p
    call.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]

    def put(area: mmap.mmap, fd: int, size: int) -> None:
        address = ctypes.addressof(ctypes.c_char.from_buffer(area))
        if call(address, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED | _MAP_FIXED, fd, 0) != address:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))

    return put
