"""One OTLP request out, one outcome back. Nothing here waits, repeats or remembers."""

from .open import Accepted, Peer, open_peer
from .outcome import Outcome, TransportError, Verdict

__all__ = ["Accepted", "Outcome", "Peer", "TransportError", "Verdict", "open_peer"]
