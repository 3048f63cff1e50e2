"""Importing MLflow without what it would load for others: pandas, PyArrow and SciPy, of which delivering uses nothing.

The skinny client, which is all that our extra asks for, does without them. Where they are installed, MLflow loads them with itself: a
worker of 151 MB then takes 227.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

UNUSED = ("pandas", "pyarrow", "scipy")


@contextmanager
def lean() -> Iterator[None]:
    """Let MLflow find them missing when it is imported inside; not where this process has loaded it, or one of them, already."""
    hidden = () if any(name in sys.modules for name in ("mlflow", *UNUSED)) else UNUSED
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None is how Python knows what cannot be imported
    try:
        yield
    finally:
        for name in hidden:
            sys.modules.pop(name, None)
