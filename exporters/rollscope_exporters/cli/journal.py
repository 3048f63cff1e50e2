"""`rollscope journal ls | cat | verify`: what the logs on this disk hold."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from rollscope import vocabulary as v
from rollscope.journal import LANES, LogReader, list_logs
from rollscope.records import Record, SpanStart, decode, decode_start

from ._common import CommandError, Commands, print_json

_START: dict[int, Any] = {}
_CHUNK = 1 << 20
_decode_any = msgspec.msgpack.Decoder().decode


def add(commands: Commands) -> None:
    """Add the sub-command."""
    parser = commands.add_parser("journal", help="list, print or verify journals", description=__doc__)
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    for name, function, text in (
        ("ls", run_ls, "one line per log: whose it is, whether it lives, what waits"),
        ("cat", run_cat, "every record that is still there, and what is open, one JSON document a line"),
        ("verify", run_verify, "read everything and check every checksum; exit code 1 when something is damaged"),
    ):
        action = actions.add_parser(name, help=text)
        action.add_argument("folder", type=Path, metavar="DIR", help="node folder, its producers folder, or one log")
        if name != "cat":
            action.add_argument("--json", action="store_true", help="as JSON")
        action.set_defaults(run_command=function)


def run_ls(options: argparse.Namespace) -> int:
    """List the logs."""
    rows = [_summary(folder) for folder in find_logs(options.folder)]
    if options.json:
        print_json(rows)
        return 0
    from rich.console import Console  # takes a while, and the other actions do without
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for column in ("log", "role", "pid", "alive", "last", "waiting", "dropped"):
        table.add_column(column, justify="right" if column in ("pid", "last", "waiting", "dropped") else "left")
    for row in rows:
        dropped = sum(row["dropped"].values())
        cells = (
            row["log"],
            row["role"],
            row["pid"],
            "yes" if row["alive"] else "no",
            row["last_sequence"],
            _size(row["pending_bytes"]),
            dropped,
        )
        table.add_row(*map(str, cells))
    Console().print(table)
    return 0


def run_cat(options: argparse.Namespace) -> int:
    """Print the records."""
    for folder in find_logs(options.folder):
        with closing(LogReader(folder, _START)) as reader:
            for lane, sequence, payload in _entries(reader):
                _print_line({"log": folder.name, "lane": lane, "sequence": sequence, "record": _readable(payload)})
            for head in reader.held():
                _print_line({"log": folder.name, "open": True, "record": _shown(decode_start(head))})
    return 0


def run_verify(options: argparse.Namespace) -> int:
    """Read everything."""
    rows = [_verified(folder) for folder in find_logs(options.folder)]
    if options.json:
        print_json(rows)
    else:
        for row in rows:
            print(f"{row['log']}: {row['records']} records, " + (f"DAMAGED {row['damaged']}" if row["damaged"] else "good"))
    return 1 if any(row["damaged"] for row in rows) else 0


def find_logs(folder: Path) -> list[Path]:
    """Return the logs at or below `folder`. Raises CommandError when there is none."""
    if (folder / "alive").exists():
        return [folder]
    for place in (folder / "producers", folder, folder / "journal" / "producers"):
        if found := list_logs(place):
            return found
    raise CommandError(f"{folder} holds no journal; name a node folder such as ./rollscope/journal")


def _summary(folder: Path) -> dict[str, Any]:
    with closing(LogReader(folder)) as reader:
        meta, counters = reader.meta(), reader.counters()
        return {
            "log": folder.name,
            "role": _from_meta(meta, v.WORKER_ROLE) or meta.get("kind", ""),
            "pid": meta.get("pid", "") or _from_meta(meta, v.PROCESS_PID),
            "alive": reader.alive(),
            "last_sequence": counters.last_sequence,
            "pending_bytes": reader.pending_bytes(),
            "dropped": dict(counters.dropped),
            "truncated": dict(counters.truncated),
            "failed_calls": dict(counters.failed),
        }


def _from_meta(meta: dict[str, object], key: str) -> object:
    for value in (meta, *meta.values()):
        if isinstance(value, dict) and key in value:
            return value[key]
    return ""


def _verified(folder: Path) -> dict[str, Any]:
    with closing(LogReader(folder, _START)) as reader:
        lanes = Counter(lane for lane, _, _ in _entries(reader))
        still_open = len(reader.held())
        return {
            "log": folder.name,
            "records": sum(lanes.values()),
            "lanes": {str(lane): n for lane, n in lanes.items()},
            "open": still_open,
            "damaged": reader.damaged,
        }


def _entries(reader: LogReader) -> Iterator[tuple[int, int, bytes]]:
    for lane in range(LANES):
        while entries := reader.read(lane, _CHUNK):
            for entry in entries:
                yield lane, entry.sequence, entry.payload


def _readable(payload: bytes) -> Any:
    """Show a recorder's record by field names, an inbox entry by its size, anything else as it is."""
    try:
        record = decode(payload)
    except (msgspec.DecodeError, msgspec.ValidationError):
        return _undecoded(payload)
    return _shown(record)


def _shown(record: Record | SpanStart) -> dict[str, Any]:
    return {"kind": type(record).__name__, **_hex({name: getattr(record, name) for name in record.__struct_fields__})}


def _print_line(line: dict[str, Any]) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(line) + b"\n")


def _undecoded(payload: bytes) -> Any:
    try:
        signal, received, content = _decode_any(payload)
    except (msgspec.DecodeError, ValueError, TypeError):
        return {"bytes": payload.hex()}
    return {"signal": signal, "received_ns": received, "protobuf_bytes": len(content)}


def _hex(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {str(key): _hex(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_hex(item) for item in value]
    return value


def _size(count: int) -> str:
    size = float(count)
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"
