"""GPUs of this host, by NVIDIA's management library (`nvidia-ml-py`, module `pynvml`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ... import vocabulary as v
from .reading import Reading

_MILLI = 1000


class GpuReader:
    """Reads all GPUs. Raises `ImportError` where the package is not installed, the library's error where there is no driver."""

    def __init__(self) -> None:
        import pynvml

        pynvml.nvmlInit()
        self._nvml: Any = pynvml
        self._devices = [pynvml.nvmlDeviceGetHandleByIndex(place) for place in range(pynvml.nvmlDeviceGetCount())]
        self._names = [_text(pynvml.nvmlDeviceGetName(device)) for device in self._devices]

    def read(self) -> Iterator[Reading]:
        """Utilisation, memory, temperature and power of each GPU; what one does not tell is left out."""
        for place, device in enumerate(self._devices):
            whose = {v.HW_ID: str(place), v.HW_NAME: self._names[place]}
            for part in (self._work, self._memory, self._heat, self._power):
                yield from self._told(part, device, whose)

    def _told(self, part: Callable[[Any, dict[str, str]], list[Reading]], device: Any, whose: dict[str, str]) -> list[Reading]:
        try:
            return part(device, whose)
        except self._nvml.NVMLError:  # a virtual GPU has no temperature, an old one no power
            return []

    def _work(self, device: Any, whose: dict[str, str]) -> list[Reading]:
        return [Reading(v.METRIC_GPU_UTILIZATION, self._nvml.nvmlDeviceGetUtilizationRates(device).gpu / 100, whose)]

    def _memory(self, device: Any, whose: dict[str, str]) -> list[Reading]:
        memory = self._nvml.nvmlDeviceGetMemoryInfo(device)
        return [
            Reading(v.METRIC_GPU_MEMORY_USAGE, memory.used, whose),
            Reading(v.METRIC_GPU_MEMORY_LIMIT, memory.total, whose),
            Reading(v.METRIC_GPU_MEMORY_UTILIZATION, memory.used / memory.total if memory.total else 0.0, whose),
        ]

    def _heat(self, device: Any, whose: dict[str, str]) -> list[Reading]:
        celsius = self._nvml.nvmlDeviceGetTemperature(device, self._nvml.NVML_TEMPERATURE_GPU)
        return [Reading(v.METRIC_TEMPERATURE, celsius, {**whose, v.HW_TYPE: "gpu"})]

    def _power(self, device: Any, whose: dict[str, str]) -> list[Reading]:
        return [Reading(v.METRIC_POWER, self._nvml.nvmlDeviceGetPowerUsage(device) / _MILLI, {**whose, v.HW_TYPE: "gpu"})]


def _text(name: str | bytes) -> str:
    return name.decode(errors="replace") if isinstance(name, bytes) else name
