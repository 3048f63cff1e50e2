"""Importing MLflow without what it would load for others: pandas, PyArrow and SciPy, of which delivering uses nothing.

The skinny client, which is all that our extra asks for, does without them. Where they are installed, MLflow loads them with itself: a
worker of 151 MB then takes 227.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

UNUSED = ("pandas", "pyarrow", "scipy")
_WORKER = "rollscope_exporters.worker."


def lean() -> AbstractContextManager[None]:
    """Let MLflow find them missing when it is imported inside, in a worker: in another process others may want them, or all of MLflow."""
    main = getattr(sys.modules.get("__main__"), "__spec__", None)
    return hidden() if main is not None and main.name.startswith(_WORKER) else nullcontext()


@contextmanager
def hidden() -> Iterator[None]:
    """Let imports inside find them missing, unless one of them is there already."""
    names = () if sys.modules.keys() & set(UNUSED) else UNUSED
    sys.modules.update(dict.fromkeys(names))  # type: ignore[arg-type]  # None is how Python knows what cannot be imported
    try:
        yield
    finally:
        for name in names:
            sys.modules.pop(name, None)
