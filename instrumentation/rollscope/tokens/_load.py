"""Reading a tokenizer: by digest from the node folder, or from wherever its name leads."""

from __future__ import annotations

import os
from pathlib import Path

from ._decoder import Decoder, TokenizerError
from ._forms import PICKLE, SUFFIXES, Form
from ._register import FOLDER
from ._sources import form_of


def load(tokenizer: object, directory: str | os.PathLike[str] | None = None) -> Decoder:
    """Return the decoder for a digest registered under `directory`, or for anything that `register` takes.

    A pickled tokenizer is read only when the file belongs to this user. Raises `TokenizerError`.
    """
    if isinstance(tokenizer, str) and directory is not None:
        for suffix in SUFFIXES:
            path = Path(directory) / FOLDER / f"{tokenizer}{suffix}"
            if _is_name(tokenizer) and path.is_file():
                return _read(path, suffix)
    return form_of(tokenizer).decoder()


def _read(path: Path, suffix: str) -> Decoder:
    if suffix == PICKLE and path.stat().st_uid != os.getuid():
        raise TokenizerError(f"{path} is a pickle of another user and is not read")
    return Form(suffix, path.read_bytes()).decoder()


def _is_name(text: str) -> bool:
    return text not in ("", ".", "..") and "/" not in text and "\0" not in text
