"""How the shipper's work goes, in one sentence of the status: which senders fail and why, what is held back, what cannot be stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .sender import Ended, Sender
from .status import Status


class Health:
    """Sums up what `senders` and the rest of the shipper run into. Derived metrics are not among them: nobody waits for those."""

    def __init__(self, status: Status, senders: Sequence[Sender]) -> None:
        self._status = status
        self._senders = senders
        self._storing = ""
        """Why progress cannot be stored; empty where it can."""
        self._holding = ""
        """Why logs are held back; empty where none is."""

    @property
    def can_store(self) -> bool:
        """Whether progress can be stored."""
        return not self._storing

    @property
    def hindered(self) -> bool:
        """Whether something cannot be done now."""
        return bool(self._storing or self._holding) or any(sender.attempts.failing for sender in self._senders)

    def after(self, sender: Sender, ended: Ended) -> bool:
        """Note how a piece of work went; True when it went well."""
        went = sender.attempts.ended(ended.postponed)
        self._say()
        return went

    def stored(self, why_not: str) -> None:
        """Note whether progress could be stored: why not, empty where it could."""
        if why_not != self._storing:
            self._storing = why_not
            self._say()

    def held(self, reasons: Mapping[str, int]) -> None:
        """Note why logs are held back, and how many for each reason."""
        holding = "; ".join(f"{logs} {'log is' if logs == 1 else 'logs are'} held back: {why}" for why, logs in reasons.items())
        if holding != self._holding:
            self._holding = holding
            self._say()

    def set_aside(self, reason: str) -> None:
        """Count a record that the peer will never take."""
        self._status.set_aside[reason] = self._status.set_aside.get(reason, 0) + 1

    def _say(self) -> None:
        failing: dict[str, list[str]] = {}
        for sender in self._senders:
            if sender.attempts.failing:
                failing.setdefault(sender.attempts.failing, []).append(sender.name)
        reasons = [f"{reason} ({', '.join(names)})" for reason, names in failing.items()]
        reasons += [reason for reason in (self._holding, self._storing) if reason]
        if reasons:
            self._status.failing("; ".join(reasons))
        else:
            self._status.working()
