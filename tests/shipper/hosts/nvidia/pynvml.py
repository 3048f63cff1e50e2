"""Stand-in for `nvidia-ml-py` where there is no GPU: two devices, the second one virtual, without temperature and power."""

from __future__ import annotations

from types import SimpleNamespace

NVML_TEMPERATURE_GPU = 0


class NVMLError(Exception):
    """As the library raises."""


def nvmlInit() -> None:
    """Nothing to begin."""


def nvmlDeviceGetCount() -> int:
    """Two."""
    return 2


def nvmlDeviceGetHandleByIndex(index: int) -> int:
    """The index itself."""
    return index


def nvmlDeviceGetName(device: int) -> str | bytes:
    """Older releases gave bytes."""
    return "H100" if device == 0 else b"H100 MIG"


def nvmlDeviceGetUtilizationRates(device: int) -> SimpleNamespace:
    """Percent."""
    return SimpleNamespace(gpu=50 + device, memory=10)


def nvmlDeviceGetMemoryInfo(device: int) -> SimpleNamespace:
    """Bytes."""
    return SimpleNamespace(total=1000, used=250, free=750)


def nvmlDeviceGetTemperature(device: int, sensor: int) -> int:
    """Degrees Celsius."""
    return _whole(device, 61)


def nvmlDeviceGetPowerUsage(device: int) -> int:
    """Milliwatts."""
    return _whole(device, 350_000)


def _whole(device: int, value: int) -> int:
    if device:
        raise NVMLError("Not Supported")
    return value
