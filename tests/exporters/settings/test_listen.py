"""Closed by default."""

from __future__ import annotations

from pathlib import Path

import pytest

from rollscope_exporters.settings import SettingsError, is_loopback, load, split_address


def listen(**keys: str) -> dict[str, str]:
    """Return the environment that sets these keys of `listen`."""
    return {f"ROLLSCOPE__LISTEN__{key.upper()}": value for key, value in keys.items()}


def test_an_open_address_needs_token_or_tls() -> None:
    """Beyond loopback with neither is an error that says what to do."""
    with pytest.raises(SettingsError, match=r"0\.0\.0\.0:5317 is reachable from other machines.*listen\.token_file.*insecure: true"):
        load(None, listen(grpc="0.0.0.0:5317"))


@pytest.mark.parametrize("key", ["token", "insecure"])
def test_a_token_or_a_word_opens_it(key: str) -> None:
    """Either the callers are known, or the owner says that they need not be."""
    assert load(None, listen(grpc="0.0.0.0:5317", **{key: "true"})).listen.grpc == "0.0.0.0:5317"


def test_certificates_must_exist(tmp_path: Path) -> None:
    """A certificate that is not there is named at start."""
    env = {"ROLLSCOPE__LISTEN__TLS__CERT_FILE": str(tmp_path / "c.pem"), "ROLLSCOPE__LISTEN__TLS__KEY_FILE": str(tmp_path / "k.pem")}
    with pytest.raises(SettingsError, match=r"cert_file: there is no file .*c\.pem"):
        load(None, env)


def test_one_listener_can_be_off_but_not_both() -> None:
    """A bridge that hears nothing is a mistake."""
    assert load(None, listen(grpc="null")).listen.grpc is None
    with pytest.raises(SettingsError, match="both switched off"):
        load(None, listen(grpc="null", http="null"))


@pytest.mark.parametrize(
    ("address", "host", "port", "closed"),
    [
        ("127.0.0.1:5317", "127.0.0.1", 5317, True),
        ("[::1]:0", "::1", 0, True),
        ("localhost:80", "localhost", 80, True),
        (":5317", "0.0.0.0", 5317, False),
        ("10.1.2.3:4317", "10.1.2.3", 4317, False),
        ("bridge.example:4317", "bridge.example", 4317, False),
    ],
)
def test_addresses(address: str, host: str, port: int, closed: bool) -> None:
    """Addresses are split, and only loopback counts as closed."""
    assert split_address(address) == (host, port)
    assert is_loopback(address) is closed


@pytest.mark.parametrize("address", ["", "host", "host:", "host:x", "host:70000", "::1:5317"])
def test_no_addresses(address: str) -> None:
    """Anything else is refused."""
    with pytest.raises(ValueError, match="host:port"):
        split_address(address)
