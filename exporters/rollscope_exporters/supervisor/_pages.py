"""What the bridge says about itself over HTTP: `/healthz`, `/readyz`, `/v1/status`, `/v1/ledger`, `/metrics`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ..receiver import Gate
from ..store import StoreError
from ._metrics_page import MEDIA_TYPE, metrics_page

Endpoint = Callable[[Request], Awaitable[Response]]


def bridge_pages(gate: Gate, ready: Callable[[], str], status: Callable[[], Any], ledger: Callable[[str | None], Any]) -> list[Route]:
    """Return the routes.

    `ready` returns why the bridge is not ready, or nothing; `status` and `ledger(run)` return JSON-compatible data and are called
    in a thread; `ledger` raises LookupError for a run that is not known and StoreError while there is no store. Probes need no
    token, data does.
    """

    async def healthz(request: Request) -> Response:
        return Response("ok\n", media_type="text/plain")

    async def readyz(request: Request) -> Response:
        why = ready()
        return Response(f"{why or 'ok'}\n", 503 if why else 200, media_type="text/plain")

    async def show_status(request: Request) -> Response:
        return _json(await asyncio.to_thread(status))

    async def show_ledger(request: Request) -> Response:
        try:
            return _json(await asyncio.to_thread(ledger, request.query_params.get("run")))
        except LookupError as error:
            return _json({"error": str(error)}, 404)
        except StoreError as error:
            return _json({"error": str(error)}, 503)

    async def show_metrics(request: Request) -> Response:
        return Response(await asyncio.to_thread(measure), media_type=MEDIA_TYPE)

    def measure() -> str:
        try:
            found = ledger(None)
        except StoreError:
            found = None  # nothing was processed yet
        return metrics_page(status(), found)

    return [
        Route("/healthz", healthz),
        Route("/readyz", readyz),
        Route("/v1/status", _behind(gate, show_status)),
        Route("/v1/ledger", _behind(gate, show_ledger)),
        Route("/metrics", _behind(gate, show_metrics)),
    ]


def _behind(gate: Gate, page: Endpoint) -> Endpoint:
    async def guarded(request: Request) -> Response:
        if gate.admits(request.headers.get("authorization")):
            return await page(request)
        return Response("a bearer token is needed\n", 401, {"www-authenticate": "Bearer"}, "text/plain")

    return guarded


def _json(data: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(data), status, media_type="application/json")
