"""Write docs/configuration.md from the model: `python -m rollscope_exporters.settings.document [FILE]`."""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ByteSize, SecretStr
from pydantic.fields import FieldInfo

from ._delivery import OPTIONS, SWITCHES
from ._errors import SettingsError
from ._model import Settings
from ._plugins import backend_class, backend_names
from ._secrets import is_secret, models_in

_WORDS = {
    "Any": "anything",
    "ByteSize": "size",
    "NoneType": "null",
    "Path": "path",
    "SecretStr": "text",
    "bool": "true or false",
    "float": "number",
    "int": "integer",
    "str": "text",
}

_HEAD = """\
# Configuration

Generated from the model by `python -m rollscope_exporters.settings.document`; a test holds it to the code.

The bridge reads one file, `rollscope.yaml`: the one `--config` names, else `$ROLLSCOPE_CONFIG`, else `./rollscope.yaml` where it
exists. None is needed: every key has a default. An unknown key is an error that names the nearest known one and the line.

- **Environment.** `ROLLSCOPE__A__B` sets key `a.b` over the file, as in `ROLLSCOPE__BACKENDS__MLFLOW__TRACKING_URI`. Lists and maps
  are written as JSON.
- **Secrets** are marked *secret*. They never stand in the file: set the variable, or `<key>_file`, whose file holds the secret alone.
  Neither does an address with a password in it: its variable takes it.
- **Sizes** are bytes or `64KiB`, `20GiB`; **durations** are seconds or `250ms`, `30s`, `5m`, `2h`.

`rollscope config check` says what is wrong, `rollscope config show` prints what is in force.
"""

_SHARED = """\
## Keys of every backend

Each signal is a key of every backend's section. `false` keeps it from that backend and `true` gives it, whatever `routes` say; a map says
what holds for this backend alone, over the section of the same name at the top:

```yaml
metrics: {every_n_steps: 1}
trajectories: {max_bytes: 1MiB}
backends:
  mlflow: {}
  wandb:
    metrics: {every_n_steps: 10, rules: {"perf/max_*": max}}
    trajectories: {sample_rate: 0.1, max_trajectory_bytes: 4MiB}
    artifacts: false
```

- **`every_n_steps: n`** makes one point of the steps `0 … n-1`, `n … 2n-1` and so on, of each process by itself. It stands at the last
  step that came and goes out when a step two beyond its steps comes, or at the end of the run; what comes later still stands as it is,
  at its own step. A metric is made of the steps that have it and left out where none has. NaN is never averaged away: one makes the
  point NaN, whatever the rule, unless that is `last`. Infinities count as numbers. Of text the last one stands. Points without a step
  and those of other splits than `train` are handed on as they are. The ledger counts what was merged under `metrics.every_n_steps`.
- **`sample_rate`** decides by a hash of run, step and group: every backend with the same rate has the same groups, also after restarts.
  `keep` adds single trajectories to it. What comes late for one that was left out (rewards, spans, images) is left out as well.
- A reward that comes after its trajectory is too late to make it an extreme.

"""


def document() -> str:
    """Return the page."""
    parts = [_HEAD, _example(), "## Keys\n\n" + _table(_rows(Settings, "", "ROLLSCOPE__")), _shared_keys()]
    for name in backend_names():
        try:
            model = backend_class(name).Config
        except SettingsError:
            continue
        text = inspect.getdoc(model) or ""
        parts.append(
            f"## `backends.{name}`\n\n{text}\n\n" + _table(_rows(model, f"backends.{name}.", f"ROLLSCOPE__BACKENDS__{name.upper()}__"))
        )
    return "\n".join(parts)


def _shared_keys() -> str:
    return _SHARED + _table(_shared_rows())


def _shared_rows() -> Iterator[str]:
    for signal in SWITCHES:
        model = OPTIONS.get(signal)
        yield f"| `backends.<name>.{signal}` | {'true, false or section' if model else 'true or false'} | by `routes` | |"
        for name, info in model.model_fields.items() if model else ():
            yield f"| `backends.<name>.{signal}.{name}` | {_type(info.annotation)} | `{signal}.{name}` | |"


def _example() -> str:
    return """## Example

```yaml
storage: ./rollscope
listen: {grpc: 127.0.0.1:5317, http: 127.0.0.1:5318}
backends:
  console: {}
  mlflow: {tracking_uri: sqlite:///rollscope/mlflow.db, trajectories_per_step: 256}
  jsonl: {}
  wandb: {metrics: {every_n_steps: 10}, trajectories: {sample_rate: 0.1}, artifacts: false}
routes:
  trajectories: [mlflow, jsonl]
metrics: {every_n_steps: 1}
trajectories: {sample_rate: 1.0, max_turns: null, max_bytes: 1MiB, token2text: true}
redact: {keys: [], patterns: [], function: null}
limits: {inbox: 20GiB, journal: 4GiB}
```
"""


def _table(rows: Iterator[str]) -> str:
    return "| key | type | default | meaning |\n|---|---|---|---|\n" + "".join(f"{row}\n" for row in rows)


def _rows(model: type[BaseModel], prefix: str, variable: str) -> Iterator[str]:
    notes = attribute_docstrings(model)
    for name, info in model.model_fields.items():
        below = models_in(info.annotation)
        meaning = info.description or notes.get(name, "")
        if is_secret(info.annotation):
            meaning = f"*Secret*, `{variable}{name.upper()}` or `{prefix}{name}_file`. {meaning}".strip()
        if not below:
            yield f"| `{prefix}{name}` | {_type(info.annotation)} | {_default(info)} | {_cell(meaning)} |"
            continue
        if not info.is_required() and info.default is None:
            yield f"| `{prefix}{name}` | section | null | {_cell(meaning)} |"
        for section in below:
            yield from _rows(section, f"{prefix}{name}.", f"{variable}{name.upper()}__")


def _type(annotation: Any) -> str:
    """Say a type in words."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _type(inner[0])
    if origin is Literal:
        return " or ".join(f"`{option}`" for option in inner)
    if origin in (Union, UnionType):
        return " or ".join(_type(option) for option in inner)
    if origin in (list, tuple):
        return f"list of {_type(inner[0])}"
    if origin is dict:
        return f"map of {_type(inner[1])}"
    name: str = getattr(annotation, "__name__", str(annotation))
    return _WORDS.get(name, name)


def _default(info: FieldInfo) -> str:
    if info.is_required():
        return "needed"
    value: Any = info.get_default(call_default_factory=True)
    if isinstance(value, SecretStr) or value is None:
        return "null"
    if isinstance(value, ByteSize):
        return f"`{value.human_readable()}`"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{value}`" if str(value) else "empty"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def attribute_docstrings(model: type[BaseModel]) -> dict[str, str]:
    """Return the docstrings that stand below the fields of a model's source."""
    try:
        body = ast.parse(textwrap.dedent(inspect.getsource(model))).body[0]
    except (OSError, TypeError):
        return {}
    if not isinstance(body, ast.ClassDef):
        return {}
    return {
        field.target.id: note.value.value
        for field, note in zip(body.body, body.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(note, ast.Expr)
        and isinstance(note.value, ast.Constant)
        and isinstance(note.value.value, str)
    }


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(document(), encoding="utf-8")
    else:
        sys.stdout.write(document())
