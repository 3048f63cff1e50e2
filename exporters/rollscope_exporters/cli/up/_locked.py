"""A bridge with TLS or a token has a Collector with the same lock: who may not speak to the one may not to the other."""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...settings import Listen, split_address

_CA, _CERT, _KEY = "OTEL_EXPORTER_OTLP_CERTIFICATE", "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "OTEL_EXPORTER_OTLP_CLIENT_KEY"
_HEADERS = "OTEL_EXPORTER_OTLP_HEADERS"
_TO_BRIDGE = ("run", "spans", "metrics", "tokens")


class Lock:
    """The bridge's TLS and token as others have to know them.

    Which authority vouches for the bridge and what a client shows for itself is said by the standard `OTEL_EXPORTER_OTLP_*` variables, as
    runs have them; without an authority the bridge's own certificate is the only one that is believed.
    """

    def __init__(self, listen: Listen, folder: Path, env: Mapping[str, str]) -> None:
        """`folder`: where the token is kept for programs that read it from a file, for this user's eyes only."""
        self._listen, self._env = listen, env
        self._token = folder / "token"
        self.closed = listen.tls is not None or listen.token is not None
        self.scheme = "https" if listen.tls else "http"
        mutual = listen.tls is not None and listen.tls.client_ca_file is not None
        lacking = [name for name in (_CERT, _KEY) if mutual and not env.get(name)]
        self.problem = f"the bridge asks for a client's certificate: set {' and '.join(lacking)}" if lacking else ""

    def check(self, address: str) -> str:
        """Return why the certificate at `address` is not believed, or nothing; an address that does not answer is none of it."""
        if not self._listen.tls:
            return ""
        context = ssl.create_default_context(cafile=self._authority())
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # the bridge's own certificate is enough
        context.set_alpn_protocols(["h2"])
        host, port = split_address(address)
        try:
            with socket.create_connection((host, port), timeout=5) as plain, context.wrap_socket(plain, server_hostname=host):
                return ""
        except ssl.SSLCertVerificationError as error:
            return f"the bridge's certificate is not believed: {error.verify_message}; name {host} in it, or its authority by {_CA}"
        except OSError:
            return ""  # a server that wants a certificate of ours says so only now

    def keep_token(self) -> None:
        """Write the token's file."""
        if self._listen.token is None:
            return
        self._token.parent.mkdir(parents=True, exist_ok=True)
        self._token.unlink(missing_ok=True)
        with open(os.open(self._token, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(self._listen.token.get_secret_value())

    def overlay(self, extensions: list[str]) -> dict[str, Any]:
        """Return what the gateway's configuration needs besides; `extensions` are those it has."""
        to_bridge: dict[str, Any] = {}
        transport: dict[str, Any] = {}
        found: dict[str, Any] = {}
        if self._listen.tls:
            to_bridge["tls"] = {"insecure": False, **self._client()}
            server = {"cert_file": str(self._listen.tls.cert_file.absolute()), "key_file": str(self._listen.tls.key_file.absolute())}
            if self._listen.tls.client_ca_file:
                server["client_ca_file"] = str(self._listen.tls.client_ca_file.absolute())
            transport["tls"] = server
        if self._listen.token:
            # Not by the authenticator, which never speaks without TLS.
            to_bridge["headers"] = {"authorization": f"Bearer ${{file:{self._token}}}"}
            transport["auth"] = {"authenticator": "bearertokenauth"}
            found["extensions"] = {"bearertokenauth": {"filename": str(self._token)}}
            found["service"] = {"extensions": ["bearertokenauth", *extensions]}
        protocols = {"protocols": {"grpc": transport, "http": transport}}
        found["receivers"] = {"otlp": protocols, "otlp/tokens": protocols}
        found["exporters"] = {f"otlp_grpc/bridge_{name}": to_bridge for name in _TO_BRIDGE}
        return found

    def scrape(self, target: str) -> dict[str, Any]:
        """Return Prometheus' job for the bridge's own numbers; `target` is `host:port`."""
        job: dict[str, Any] = {"job_name": "rollscope-bridge", "scheme": self.scheme, "static_configs": [{"targets": [target]}]}
        if self._listen.tls:
            job["tls_config"] = self._client()
        if self._listen.token:
            job["authorization"] = {"credentials_file": str(self._token)}
        return job

    def variables(self) -> dict[str, str]:
        """Return what a run needs to be let in; the token itself is not shown."""
        found = {_CA: self._authority()} if self._listen.tls else {}
        found |= {name: self._env[name] for name in (_CERT, _KEY) if self._listen.tls and self._env.get(name)}
        return found | ({_HEADERS: '"authorization=Bearer%20…"'} if self._listen.token else {})

    def _client(self) -> dict[str, str]:
        names = {"cert_file": self._env.get(_CERT), "key_file": self._env.get(_KEY)}
        return {"ca_file": self._authority(), **{name: os.path.abspath(path) for name, path in names.items() if path}}

    def _authority(self) -> str:
        assert self._listen.tls
        return os.path.abspath(self._env.get(_CA) or self._listen.tls.cert_file)
