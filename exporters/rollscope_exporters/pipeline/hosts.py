"""Host metrics → scalars for the system view of trackers: `system/<host>/cpu.utilization`, some twenty a host.

Counters become rates, so that a tracker draws bytes a second; temperature is that of the hottest GPU, power that of all together.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from rollscope import vocabulary as v

from ..decode import Point
from ..records import Scalar, StepMetrics
from .settings import SECOND

SCOPE = "rollscope.hosts"
_SERIES_KEPT = 20_000
_PLAIN = {
    v.METRIC_MEMORY_USAGE: "memory.usage",
    v.METRIC_MEMORY_UTILIZATION: "memory.utilization",
    v.METRIC_PAGING_USAGE: "paging.usage",
    v.METRIC_FILESYSTEM_UTILIZATION: "filesystem.utilization",
}
_RATES = {v.METRIC_DISK_IO: ("disk", v.DISK_IO_DIRECTION), v.METRIC_NETWORK_IO: ("network", v.NETWORK_IO_DIRECTION)}
_OF_GPU = {
    v.METRIC_GPU_UTILIZATION: "utilization",
    v.METRIC_GPU_MEMORY_USAGE: "memory.usage",
    v.METRIC_GPU_MEMORY_UTILIZATION: "memory.utilization",
}


class Hosts:
    """Remembers counters in memory: after a restart the first rate of each is missing."""

    def __init__(self) -> None:
        self._counters: OrderedDict[tuple[str, str, str], tuple[int, float]] = OrderedDict()

    def metrics(self, run: str, host: str, points: Iterable[Point]) -> list[StepMetrics]:
        """The points of one host as scalars without a step, one record a moment."""
        moments: dict[int, dict[str, float]] = {}
        for point in points:
            self._add(moments.setdefault(point.time, {}), point, run, host)
        return [StepMetrics(run=run, time=time, values=_named(host, moments[time])) for time in sorted(moments) if moments[time]]

    def _add(self, values: dict[str, float], point: Point, run: str, host: str) -> None:
        value = point.values.get("", 0.0)
        if point.name == v.METRIC_CPU_UTILIZATION:
            mode = point.attributes.get(v.CPU_MODE)
            if mode == "idle":
                values["cpu.utilization"] = min(1.0, max(0.0, 1.0 - value))
            elif mode == "iowait":
                values["cpu.iowait"] = value
        elif point.name in _PLAIN:
            values[_PLAIN[point.name]] = value
        elif point.name in _RATES:
            what, direction = _RATES[point.name]
            name = f"{what}.{point.attributes.get(direction, 'io')}.rate"
            if (rate := self._rate((run, host, name), point.time, value)) is not None:
                values[name] = rate
        elif point.name in _OF_GPU:
            values[f"gpu.{point.attributes.get(v.HW_ID, '')}.{_OF_GPU[point.name]}"] = value
        elif point.name == v.METRIC_TEMPERATURE:
            values["gpu.temperature.max"] = max(value, values.get("gpu.temperature.max", value))
        elif point.name == v.METRIC_POWER:
            values["gpu.power.sum"] = values.get("gpu.power.sum", 0.0) + value

    def _rate(self, series: tuple[str, str, str], time: int, value: float) -> float | None:
        """Units a second since the last point; None for the first one, and where the counter began anew."""
        before = self._counters.pop(series, None)
        self._counters[series] = (time, value)
        if len(self._counters) > _SERIES_KEPT:
            self._counters.popitem(last=False)
        if before is None or time <= before[0] or value < before[1]:
            return None
        return (value - before[1]) * SECOND / (time - before[0])


def _named(host: str, values: dict[str, float]) -> dict[str, Scalar]:
    return {f"system/{host}/{name}": value for name, value in values.items()}
