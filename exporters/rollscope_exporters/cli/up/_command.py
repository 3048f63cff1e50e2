"""Start everything, say where to look, and end it in order."""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import signal
import sys
import time
from pathlib import Path

from ...settings import Settings
from .._common import Commands
from ..bridge import add_listen_options, bridge_settings, serve
from ._guard import Guard
from ._pages import pages
from ._service import Service
from ._stack import Stack, cache_folder
from ._table import rows, show

_DRAIN = 20.0
"""Seconds the Collector may take to hand on what it holds before it is ended; the rest stays in its queue on disk."""
_LOOK = 1.0
"""Seconds between two looks at what waits for a first run."""
_QUEUED = re.compile(r'^otelcol_exporter_queue_size\{[^}]*exporter="otlp_grpc/bridge[^}]*\} (\S+)', re.MULTILINE)


def add(commands: Commands) -> None:
    """Add the sub-command."""
    about = "Bridge, local tracker pages and, where built, Collector, Jaeger and Prometheus; prints where to look. Ctrl-C ends all of it."
    parser = commands.add_parser("up", help="bridge, local tracker pages and the Collector; prints where to look", description=about)
    add_listen_options(parser)
    for name, address in (("mlflow", "127.0.0.1:5000"), ("swanlab", "127.0.0.1:5092"), ("tensorboard", "127.0.0.1:6006")):
        text = f"where the {name} pages are served (default: %(default)s)"
        parser.add_argument(f"--{name}", metavar="HOST:PORT", default=address, help=text)
    parser.add_argument(
        "--prometheus", metavar="HOST:PORT", default="127.0.0.1:9090", help="where Prometheus listens (default: %(default)s)"
    )
    parser.add_argument(
        "--collector-config",
        type=Path,
        metavar="DIR",
        default=Path(os.environ.get("ROLLSCOPE_COLLECTOR_CONFIG") or "collector-config"),
        help="folder of the configurations (default: $ROLLSCOPE_COLLECTOR_CONFIG, ./collector-config)",
    )
    parser.add_argument(
        "--cache",
        type=Path,
        metavar="DIR",
        default=cache_folder(os.environ),
        help="where programs were built that are not on the path (default: $ROLLSCOPE_CACHE, %(default)s)",
    )
    parser.add_argument("--bare", action="store_true", help="bridge and tracker pages alone")
    parser.set_defaults(run_command=run, embedded=False)


def run(options: argparse.Namespace) -> int:
    """Run until Ctrl-C, then end everything in order."""
    return serve(_up(bridge_settings(options), options))


async def _up(settings: Settings, options: argparse.Namespace) -> None:
    from ...supervisor import Bridge, BridgeOptions

    bridge = Bridge(settings, BridgeOptions(config=options.config))
    around = _Around(settings, options)
    serving = asyncio.create_task(bridge.run())
    told = asyncio.Event()
    try:
        await asyncio.wait({serving, asyncio.create_task(bridge.started())}, return_when=asyncio.FIRST_COMPLETED)
        if not serving.done():
            for number in _signals():
                asyncio.get_running_loop().add_signal_handler(number, told.set)  # the bridge's turn comes last
            await asyncio.to_thread(around.start, bridge.addresses())
            show(rows(settings, bridge.addresses(), around.services, around.endpoints))
            ends = {serving, asyncio.create_task(told.wait())}
            while not (await asyncio.wait(ends, timeout=_LOOK, return_when=asyncio.FIRST_COMPLETED))[0]:
                await asyncio.to_thread(around.look)
            _say("ending: the pages, the Collector, then the bridge; that takes some seconds")
    finally:
        await asyncio.to_thread(around.end)
        bridge.stop()
        await serving


def _signals() -> tuple[signal.Signals, ...]:
    """Return what ends all of it. SIGHUP, which a closed terminal sends, is left alone under `nohup`."""
    hangup = () if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else (signal.SIGHUP,)
    return (signal.SIGTERM, signal.SIGINT, *hangup)


def _say(text: str) -> None:
    """Print where somebody can read it: the terminal may be closed, and what cannot be written must not be tried again at the end."""
    try:
        print(text, flush=True)
    except OSError:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # until the process ends


class _Around:
    """Everything but the bridge."""

    def __init__(self, settings: Settings, options: argparse.Namespace) -> None:
        self._settings, self._options = settings, options
        self._pages: list[Service] = []
        self._stores: list[Service] = []
        self._collector: Service | None = None
        self._stack: Stack | None = None
        self._guard = Guard()

    @property
    def services(self) -> list[Service]:
        """All of them, in the order of the table."""
        return [*self._pages, *([self._collector] if self._collector else []), *self._stores]

    @property
    def endpoints(self) -> dict[str, str]:
        """Variables that send runs to the Collector, none without it."""
        return self._stack.endpoints() if self._stack and self._collector and self._collector.process else {}

    def start(self, bridge: tuple[str | None, str | None]) -> None:
        """Start what can be had: who receives before who sends."""
        grpc, http = bridge
        if not self._options.bare:
            stack = Stack(self._settings, self._options.collector_config, self._options.cache, self._options.prometheus)
            self._stack = stack
            self._stores = stack.stores(http)
            for store in self._stores:
                self._start(store)
            self._collector = stack.collector(grpc, *self._stores)
            self._start(self._collector)
        self._pages = pages(self._settings, self._options.mlflow, self._options.swanlab, self._options.tensorboard)
        for page in self._pages:
            self._start(page)

    def look(self) -> None:
        """Start what could not be started before, and forget what has ended by itself: its number may become another process's."""
        for page in self._pages:
            if page.needs and page.process is None and not page.problem:
                self._start(page)
        for service in self.services:
            if service.process is not None and service.process.poll() is not None:
                self._guard.forget(service.process.pid)

    def _start(self, service: Service) -> None:
        pages = "-ui" if service in self._pages else ""
        service.start(self._settings.storage / f"{service.name.lower()}{pages}.log")
        if service.process is not None:
            self._guard.watch(service.process.pid)

    def end(self) -> None:
        """End the pages, then the Collector when it has handed on what it holds, then what it sends to."""
        for page in self._pages:
            self._end(page)
        if self._collector and self._collector.process:
            _drain(self._collector)
            self._end(self._collector)
        for store in self._stores:
            self._end(store)
        self._guard.end()

    def _end(self, service: Service) -> None:
        service.end()
        if service.process is not None:
            self._guard.forget(service.process.pid)


def _drain(collector: Service) -> None:
    """Wait until nothing is queued for the bridge, for a bounded time."""
    until = time.monotonic() + _DRAIN
    while time.monotonic() < until:
        queued = [float(size) for size in _QUEUED.findall(collector.read_metrics())]
        if not any(queued):
            return
        time.sleep(0.2)
