"""What the Collector's configuration files are run with in tests."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2] / "collector-config"


class Use(NamedTuple):
    """One way in which the files are meant to be used together."""

    binary: str
    """What `tools.collector` builds for it."""
    files: tuple[str, ...]


USES: tuple[Use, ...] = (
    Use("gateway", ("agent.yaml",)),
    Use("gateway", ("agent.yaml", "overlays/tls.yaml")),
    Use("gateway", ("gateway.yaml",)),
    Use("gateway", ("gateway.yaml", "overlays/tls-gateway.yaml")),
    Use("gateway", ("gateway.yaml", "overlays/bridge-tls.yaml")),
    Use("gateway", ("gateway.yaml", "overlays/tls-gateway.yaml", "overlays/bridge-tls.yaml")),
    Use("gateway", ("gateway.yaml", "overlays/tail-sampling.yaml")),
    Use("gateway", ("gateway.yaml", "overlays/no-content.yaml")),
    Use("gateway", ("gateway.yaml", "overlays/weave.yaml")),
    Use("gateway", ("gateway-balancer.yaml",)),
    Use("gateway", ("gateway-balancer-dns.yaml",)),
    Use("gateway", ("gateway-balancer-dns.yaml", "overlays/balancer-kubernetes.yaml")),
    Use("relay", ("relay-in.yaml",)),
    Use("relay", ("relay-out.yaml",)),
    Use("jaeger", ("jaeger.yaml",)),
)


def arguments(files: tuple[str, ...]) -> list[str]:
    """Return the `--config` options for `files`."""
    return [word for name in files for word in ("--config", str(ROOT / name))]


def environment(folder: Path) -> dict[str, str]:
    """Return the variables that the files need, with storage under `folder`."""
    secret = folder / "secret"
    secret.write_text("x", encoding="utf-8")
    names = ("AGENT", "GATEWAY", "BALANCER", "RELAY")
    return {
        **{f"ROLLSCOPE_{name}_STORAGE": str(folder / name.lower()) for name in names},
        "ROLLSCOPE_TOKEN_FILE": str(secret),
        "ROLLSCOPE_BRIDGE_TOKEN_FILE": str(secret),
        "ROLLSCOPE_BRIDGE_CA": str(secret),
        "ROLLSCOPE_TLS_CA": str(secret),
        "ROLLSCOPE_TLS_CERT": str(secret),
        "ROLLSCOPE_TLS_KEY": str(secret),
        "ROLLSCOPE_GATEWAYS": "rollscope-gateway.rollscope",
        "WANDB_API_KEY": "x",
        "ROLLSCOPE_WEAVE_PROJECT": "entity/project",
    }
