"""What users call a tokenizer → the form in which it is kept."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ._decoder import TokenizerError
from ._forms import JSON, PICKLE, REFERENCE, Form, function_of, imported, located_form, table_form

_FILE = "tokenizer.json"


def form_of(tokenizer: object) -> Form:
    """Return the form of a tokenizer object, a callable ids → text, a path, a name, or `module:attribute`.

    Objects: HuggingFace `tokenizers.Tokenizer` and `transformers` fast tokenizers, tiktoken encodings, anything with a map
    `decoder` id → bytes (text for special tokens), anything with `decode`. Raises `TokenizerError`.
    """
    if isinstance(tokenizer, (str, os.PathLike)):
        return _of_name(os.fspath(tokenizer))
    backend: Any = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if callable(getattr(backend, "to_str", None)):
        return Form(JSON, backend.to_str().encode())
    if callable(getattr(tokenizer, "decode_single_token_bytes", None)):
        return table_form(_tiktoken_pieces(tokenizer))
    table = getattr(tokenizer, "decoder", None)
    if isinstance(table, Mapping) and any(isinstance(piece, bytes) for piece in table.values()):
        return table_form(_mapped_pieces(table))
    return _of_callable(tokenizer)


def _of_name(name: str) -> Form:
    path = Path(name)
    if path.is_dir():
        path = path / _FILE
    if path.is_file():
        return _of_file(path)
    if ":" in name:
        return form_of(imported(name))
    if (cached := _in_hub_cache(name)) is not None:
        return _of_file(cached)
    return form_of(_tiktoken_encoding(name))


def _of_file(path: Path) -> Form:
    form = Form(JSON, path.read_bytes())
    form.decoder()  # a wrong file is told now, to the one who named it
    return form


def _in_hub_cache(name: str) -> Path | None:
    """Return `tokenizer.json` of a model that HuggingFace libraries downloaded before; nothing is downloaded here."""
    home = os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface"
    hub = Path(os.environ.get("HF_HUB_CACHE") or Path(home) / "hub")
    model = hub / f"models--{name.replace('/', '--')}"
    try:
        revision = (model / "refs" / "main").read_text().strip()
    except OSError:
        return None
    path = model / "snapshots" / revision / _FILE
    return path if path.is_file() else None


def _tiktoken_encoding(name: str) -> Any:
    try:
        tiktoken = importlib.import_module("tiktoken")
    except ImportError:
        tiktoken = None
    if tiktoken is None or name not in tiktoken.list_encoding_names():
        raise TokenizerError(
            f"no tokenizer {name!r} here: give the tokenizer object, the path of its tokenizer.json, `module:attribute`, "
            "or a name that is in the HuggingFace cache"
        )
    return tiktoken.get_encoding(name)


def _tiktoken_pieces(encoding: Any) -> list[bytes | None]:
    def piece(index: int) -> bytes | None:
        try:
            return bytes(encoding.decode_single_token_bytes(index))
        except KeyError:
            return None

    return [piece(index) for index in range(int(getattr(encoding, "n_vocab", 0)) or int(encoding.max_token_value) + 1)]


def _mapped_pieces(table: Mapping[int, object]) -> list[bytes | None]:
    pieces: list[bytes | None] = [None] * (max(table) + 1)
    for index, piece in table.items():
        pieces[index] = piece if isinstance(piece, bytes) else str(piece).encode(errors="replace")
    return pieces


def _of_callable(tokenizer: Any) -> Form:
    if function_of(tokenizer) is None:
        raise TokenizerError(f"a {type(tokenizer).__name__} is no tokenizer: it has no `decode` and cannot be called")
    if (reference := _reference(tokenizer)) is not None:
        return located_form(REFERENCE, reference.encode())
    try:
        cloudpickle = importlib.import_module("cloudpickle")
    except ImportError as error:
        raise TokenizerError("this tokenizer can only travel pickled: pip install cloudpickle, or name it as `module:attribute`") from error
    try:
        return located_form(PICKLE, cloudpickle.dumps(tokenizer))
    except Exception as error:
        raise TokenizerError(f"this tokenizer cannot be pickled ({error}); name it as `module:attribute`") from error


def _reference(tokenizer: Any) -> str | None:
    """Return `module:attribute` under which another process finds the very object, if there is one."""
    module, name = getattr(tokenizer, "__module__", None), getattr(tokenizer, "__qualname__", None)
    if not module or not name or module == "__main__" or "<" in name:
        return None
    reference = f"{module}:{name}"
    try:
        return reference if imported(reference) is tokenizer else None
    except TokenizerError:
        return None
