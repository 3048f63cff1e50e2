"""What `import rollscope` costs a process that starts."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterable
from importlib.util import find_spec

from .harness import Outcome

NAME = "importing"
WORKLOAD = (
    "An interpreter that imports one module and ends, with bytecode kept; from each, the one that imports nothing is taken off. Processor "
    "time of the whole process, the least of its rounds, taken in turn: what others do on the machine only adds to it."
)
BAR = "import rollscope <= 100 ms"
_BARE = "pass"
_PEER = "opentelemetry-sdk with its OTLP exporter"
_PEER_MODULES = ("opentelemetry.sdk.trace", "opentelemetry.exporter.otlp.proto.http.trace_exporter")


def run(*, quick: bool) -> Outcome:
    """Start processes, each kind in turn."""
    notes = [f"Python {sys.version.split()[0]}"]
    programs = {"bare": _BARE, "rollscope": "import rollscope"}
    if _is_here(_PEER_MODULES):
        programs[_PEER] = f"import {', '.join(_PEER_MODULES)}"
    else:
        notes.append(f"{_PEER}: not installed")
    best = dict.fromkeys(programs, float("inf"))
    for number in range(2 if quick else 21):
        for name, program in programs.items():
            took = _processor_ms(program)
            if number:  # the first writes bytecode
                best[name] = min(best[name], took)
    bare = best.pop("bare")
    measured = {"bare interpreter": {"cpu_ms": bare}} | {f"import {name}": {"cpu_ms": took - bare} for name, took in best.items()}
    ours = best.pop("rollscope") - bare
    ratios = {f"rollscope / {name}": ours / (took - bare) for name, took in best.items()}
    return Outcome(measured, ratios, ours <= 100, notes)


def _processor_ms(program: str) -> float:
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", program], env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e3


def _is_here(modules: Iterable[str]) -> bool:
    try:
        return all(find_spec(module) is not None for module in modules)
    except ModuleNotFoundError:
        return False
