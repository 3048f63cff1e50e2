"""Sizes, durations and addresses, as people write them."""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)\s*")


def _seconds(value: object) -> object:
    """Turn `"90s"`, `"1.5m"`, `"250ms"` into seconds; numbers are seconds already."""
    if not isinstance(value, str):
        return value
    found = _DURATION.fullmatch(value)
    if found:
        return float(found[1]) * _SECONDS[found[2]]
    try:
        return float(value)
    except ValueError:
        raise ValueError("a duration is a number of seconds or has a unit: 250ms, 30s, 5m, 2h, 1d") from None


def split_address(address: str) -> tuple[str, int]:
    """Split `host:port` or `[v6]:port`; port 0 lets the system choose. Raises ValueError."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535 or (":" in host and not host.startswith("[")):
        raise ValueError("an address is host:port, as in 127.0.0.1:5317 or [::1]:5317")
    return host.strip("[]") or "0.0.0.0", int(port)


def is_loopback(address: str) -> bool:
    """Say whether nobody outside this machine can reach `address`."""
    host, _ = split_address(address)
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _check_address(address: str) -> str:
    split_address(address)
    return address


Address = Annotated[str, AfterValidator(_check_address)]
Seconds = Annotated[float, BeforeValidator(_seconds)]
