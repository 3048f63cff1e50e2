"""Writing a run's tokenizer where the shipper finds it."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from ._forms import Form
from ._sources import form_of

FOLDER = "tokenizers"
_DIGITS = 32


def register(tokenizer: object, directory: str | os.PathLike[str]) -> str:
    """Write `tokenizer` under `<directory>/tokenizers/` and return its digest, 32 hex digits.

    `tokenizer` is what `form_of` takes: an object, a callable ids → text, a path to `tokenizer.json`, a name, or
    `module:attribute`. The same tokenizer is written once. Raises `TokenizerError` when it cannot be kept for another process.
    """
    form = form_of(tokenizer)
    digest = hashlib.sha256(form.suffix.encode() + form.content).hexdigest()[:_DIGITS]
    path = Path(directory) / FOLDER / f"{digest}{form.suffix}"
    if not path.exists():
        _write(path, form)
    return digest


def _write(path: Path, form: Form) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(form.content)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
