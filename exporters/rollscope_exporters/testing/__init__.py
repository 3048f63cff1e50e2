"""For authors of backends: records to feed one with, and the suite that every backend must pass (it needs pytest).

`samples` builds ordinary records, `odd` strange ones, `conformance` is the suite; `deliver` drives a backend as a worker does.
"""

from ._contents import Contents, SeenTrajectory
from ._crash import deliver_and_die
from ._deliver import deliver
from .odd import ODD_NAMES, odd_metrics, odd_records
from .samples import NOW, Sampler

__all__ = ["NOW", "ODD_NAMES", "Contents", "Sampler", "SeenTrajectory", "deliver", "deliver_and_die", "odd_metrics", "odd_records"]
