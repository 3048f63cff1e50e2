"""The bearer token."""

from __future__ import annotations

import hmac


class Gate:
    """Lets a caller in who presents the token; without a token, everyone the network lets through."""

    def __init__(self, token: str | None) -> None:
        self._expected = f"bearer {token}".encode() if token else None

    def admits(self, authorization: str | bytes | None) -> bool:
        """Compare an `Authorization` header in constant time; the scheme's case does not matter."""
        if self._expected is None:
            return True
        given = authorization.encode("utf-8", "replace") if isinstance(authorization, str) else authorization or b""
        scheme, _, rest = given.partition(b" ")
        return hmac.compare_digest(scheme.lower() + b" " + rest.strip(), self._expected)
