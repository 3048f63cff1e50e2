"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
import timeit
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_PACKAGES = (
    "rollscope", "opentelemetry-sdk", "protobuf", "msgspec", "grpcio", "mlflow", "wandb", "swanlab", "tensorboard", "trackio",
)  # fmt: skip


def circumstances() -> dict[str, object]:
    """Return the day (UTC), the machine in one line, and the versions of what is compared."""
    return {"date": datetime.now(timezone.utc).date().isoformat(), "machine": machine(), "versions": _versions()}


def _versions() -> dict[str, str]:
    found: dict[str, str] = {}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def machine() -> str:
    """One line: processor, cores, memory, kernel, Python, load before the run, and how fast and how evenly plain Python runs on it."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    load = os.getloadavg()[0]
    return (
        f"{_processor()}, {len(os.sched_getaffinity(0))} cores, {memory:.0f} GiB, Linux {platform.release().partition('-')[0]}, "
        f"{platform.python_implementation()} {platform.python_version()}, load before {load:.1f}, {_pace()}"
    )


def _pace() -> str:
    """Machines that share a processor with others can be half as fast from one second to the next."""
    taken = sorted(timeit.repeat("for number in numbers: total += number", "numbers, total = range(1_000_000), 0", number=1, repeat=25))
    return f"a million additions in Python {taken[0] * 1000:.0f} to {taken[-1] * 1000:.0f} ms, median {taken[len(taken) // 2] * 1000:.0f}"


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()
