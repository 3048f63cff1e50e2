"""What the node does while runs are live on it: CPU, memory, disk, network and GPUs, sampled beside the trainers, never in them.

`system` and `gpus` read, `sampler` does so once an interval in a thread of its own, `otlp` encodes for each live run.
"""

from .otlp import SCOPE, host_items
from .reading import Reading
from .sampler import Sampler

__all__ = ["SCOPE", "Reading", "Sampler", "host_items"]
