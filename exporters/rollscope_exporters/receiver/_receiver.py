"""Both listeners over one intake."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.routing import Route

from ..settings import Settings, split_address
from ._auth import Gate
from ._grpc_server import grpc_credentials, make_grpc_server
from ._http_app import otlp_routes
from ._http_server import HttpServer
from ._inbox import Inbox
from ._intake import Intake

_GRACE = 5.0


class ListenError(Exception):
    """When an address cannot be listened on."""


class Receiver:
    """OTLP endpoint of the bridge; `routes` are further HTTP pages."""

    def __init__(self, settings: Settings, inbox: Path, gate: Gate, routes: Sequence[Route] = ()) -> None:
        self._listen = settings.listen
        self._max_request = int(settings.limits.request)
        self._inbox = Inbox(inbox, int(settings.limits.inbox))
        self.intake = Intake(self._inbox)
        self._gate, self._routes = gate, routes
        self._grpc: Any = None
        self._http: HttpServer | None = None
        self.grpc_port: int | None = None
        self.http_port: int | None = None

    async def start(self) -> None:
        """Listen. Raises ListenError when an address is taken."""
        if self._listen.http:
            await self._start_http(self._listen.http)
        if self._listen.grpc:
            await self._start_grpc(self._listen.grpc)

    async def _start_http(self, address: str) -> None:
        app = Starlette(routes=[*otlp_routes(self.intake, self._gate, self._max_request), *self._routes])
        try:
            self._http = HttpServer(app, address, self._listen.tls)
        except OSError as error:
            raise ListenError(f"listen.http {address}: {os.strerror(error.errno or 0)}; free the port or choose another") from None
        await self._http.start()
        self.http_port = self._http.port

    async def _start_grpc(self, address: str) -> None:
        self._grpc = make_grpc_server(self.intake, self._gate, self._max_request)
        host, port = split_address(address)
        target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        tls = self._listen.tls
        try:
            self.grpc_port = self._grpc.add_secure_port(target, grpc_credentials(tls)) if tls else self._grpc.add_insecure_port(target)
        except RuntimeError:
            raise ListenError(f"listen.grpc {address}: cannot be bound; free the port or choose another") from None
        await self._grpc.start()

    async def stop(self) -> None:
        """Refuse what comes, finish what is under way, sync the inbox."""
        self.intake.open = False
        if self._grpc:
            await self._grpc.stop(_GRACE)
        if self._http:
            await self._http.stop()
        await self._inbox.close()
