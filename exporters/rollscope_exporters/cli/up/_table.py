"""One table of addresses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...settings import Settings
from ._service import Service


def rows(
    settings: Settings, addresses: tuple[str | None, str | None], services: Iterable[Service], endpoints: Mapping[str, str]
) -> dict[str, str]:
    """Return name → where; `addresses` are the bridge's, `endpoints` the variables of the Collector where it runs."""
    grpc, http = addresses
    base = f"{'https' if settings.listen.tls else 'http'}://{http}" if http else ""
    variables = dict(endpoints) or ({"ROLLSCOPE_ENDPOINT": base} if base else {})
    if variables and "journal" in settings.limits.model_fields_set:
        variables["ROLLSCOPE_JOURNAL_LIMIT"] = str(int(settings.limits.journal))
    found = {
        "OTLP/gRPC": grpc or "",
        "OTLP/HTTP": base,
        "status": f"{base}/v1/status" if base else "",
        **{service.name: service.said for service in services},
        "storage": str(settings.storage.absolute()),
        "runs set": " ".join(f"{name}={text}" for name, text in variables.items()),
    }
    return {name: text for name, text in found.items() if text}


def show(table: Mapping[str, str]) -> None:
    """Print it."""
    for name, text in table.items():
        print(f"{name:<11} {text}", flush=True)
