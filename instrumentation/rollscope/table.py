"""Tables: rows under a name, at a step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from . import vocabulary as v
from .jsonable import fit, json_bytes
from .metrics import whole
from .recorder import Recorder, current, guarded, report
from .step_point import current_step

__all__ = ["table"]

_MOST_BYTES = 32 << 20
"""JSON of one call; rows beyond are left out."""


@guarded("table")
def table(
    name: str,
    rows: Iterable[Mapping[str, object] | Sequence[object]] | object,
    *,
    columns: Sequence[str] | None = None,
    step: int | None = None,
) -> None:
    """Record rows of a table; a name may be used at every step.

    rows: maps of column → value, sequences that go with `columns`, or a data frame (pandas, polars, pyarrow). columns: names for
    sequences, or the columns to keep of maps. step: the current one unless given. Many rows become several records under the same
    name and step; a call records at most 32 MiB of JSON. A single row over `limits.value_length` has its strings cut and says so.
    """
    recorder = current()
    if recorder is None:
        return
    point = current_step()
    index = whole(step) if step is not None else None if point is None else point.index
    attributes: dict[str, Any] = {v.TABLE_NAME: name} if index is None else {v.TABLE_NAME: name, v.STEP_INDEX: index}
    for text in _batches(_rows(rows, columns), recorder):
        recorder.event(v.EVENT_TABLE, {**attributes, v.TABLE_ROWS: text})


def _rows(rows: Any, columns: Sequence[str] | None) -> Iterator[Mapping[str, object]]:
    for number, row in enumerate(_records(rows)):
        if isinstance(row, Mapping):
            yield row if columns is None else {column: row.get(column) for column in columns}
        elif columns is not None:
            yield dict(zip(columns, row, strict=True))
        else:
            raise TypeError(f"row {number} is a {type(row).__name__}; give maps of column → value, or name the columns with columns=")


def _records(rows: Any) -> Iterable[Any]:
    """Return the rows of a data frame as maps, by the method its library offers; anything else as it is."""
    if hasattr(rows, "to_pylist"):
        return rows.to_pylist()  # type: ignore[no-any-return]  # pyarrow
    if hasattr(rows, "to_dicts"):
        return rows.to_dicts()  # type: ignore[no-any-return]  # polars
    if hasattr(rows, "to_dict") and not isinstance(rows, Mapping):
        return rows.to_dict("records")  # type: ignore[no-any-return]  # pandas
    return [rows] if isinstance(rows, Mapping) else rows


def _batches(rows: Iterable[Mapping[str, object]], recorder: Recorder) -> Iterator[str]:
    """Yield JSON lists of rows, each within the limit of one value. An empty table is one empty list."""
    limit, total, size = recorder.limits.value_length, 0, 0
    batch: list[bytes] = []
    yielded = False
    for row in rows:
        encoded = json_bytes(row)
        if len(encoded) > limit - 2:
            encoded = fit(encoded, limit - 2).encode()
        total += len(encoded) + 1
        if total > _MOST_BYTES:
            report("truncated", "big_table", f"a table has more than {_MOST_BYTES >> 20} MiB of rows; the first are kept")
            break
        if batch and size + len(encoded) + 1 > limit - 2:
            yield _list_of(batch)
            yielded, batch, size = True, [], 0
        batch.append(encoded)
        size += len(encoded) + 1
    if batch or not yielded:
        yield _list_of(batch)


def _list_of(rows: list[bytes]) -> str:
    return (b"[%b]" % b",".join(rows)).decode()
