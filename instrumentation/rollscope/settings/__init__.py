"""What `init` and the environment decide: where records go, what is captured, how large anything may grow."""

from ._environment import environment_bool, environment_int, seconds
from .capture import Capture
from .endpoint import SIGNALS, Endpoint, Endpoints, resolve_endpoints
from .limits import Limits
from .redaction import Redaction
from .settings import Settings, disabled, load_settings

__all__ = [
    "SIGNALS",
    "Capture",
    "Endpoint",
    "Endpoints",
    "Limits",
    "Redaction",
    "Settings",
    "disabled",
    "environment_bool",
    "environment_int",
    "load_settings",
    "resolve_endpoints",
    "seconds",
]
