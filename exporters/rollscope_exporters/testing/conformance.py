"""The suite that every backend must pass.

Subclass it in a test module, say which backend and how to read its destination back, and pytest does the rest:

    class TestMine(BackendConformance):
        backend = "my_package:MyBackend"
        config = {"path": "out.csv"}

        def read(self, storage, run):
            return Contents(metrics=...)

A crash in it is a real one: the records are written by a process of its own that kills itself.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, cast

import pytest
from pydantic import ValidationError

from ..backends import Backend
from ..records import SIGNALS, Record
from ._contents import Contents
from ._crash import deliver_and_die
from ._deliver import deliver
from ._expected import expected
from .odd import ODD_NAMES, odd_metrics, odd_records
from .samples import Sampler


class BackendConformance:
    """Inherit, set `backend` and `config`, implement `read`."""

    backend: ClassVar[str]
    """`module:Class`, importable also in a process of its own."""
    config: ClassVar[Mapping[str, object]] = {}
    many: ClassVar[int] = 1100
    """Metrics of a huge record; fewer where the library takes long for each new name."""

    def read(self, storage: Path, run: str) -> Contents:
        """Return what the destination holds of `run`."""
        raise NotImplementedError("a subclass reads its destination back")

    def poison(self) -> Record | None:
        """Return a record that the backend rejects, if there is one."""
        return None

    def kind(self) -> type[Backend]:
        module, _, name = self.backend.partition(":")
        return cast("type[Backend]", getattr(import_module(module), name))

    def open(self, storage: Path, state: Mapping[str, object] | None = None) -> Backend:
        kind = self.kind()
        return kind(kind.Config.model_validate(dict(self.config)), storage, state or {})

    def die(self, storage: Path, state: Mapping[str, object], records: list[Record]) -> None:
        """Deliver `records` in a process that is killed right after."""
        deliver_and_die(self.backend, self.config, storage, state, records)

    def deliver(self, storage: Path, records: Sequence[Record], state: Mapping[str, object] | None = None) -> list[Record]:
        """Deliver `records` from opening to closing; returns those that were rejected."""
        backend = self.open(storage, state)
        rejected = deliver(backend, records)
        backend.checkpoint()
        backend.close()
        return rejected

    def check(self, storage: Path, records: list[Record], run: str = "run-1") -> None:
        """Compare what the destination holds with what `records` say, in everything the destination keeps."""
        found = self.read(storage, run)
        wanted = expected([record for record in records if record.signal in self.kind().accepts], run)
        assert found.copies == 1, f"{run} became {found.copies} runs"
        for name, value in vars(wanted).items():
            got = getattr(found, name)
            if value is not None and got is not None:
                assert comparable(got) == comparable(value), f"{name} of {run} differ"

    def test_keeps_the_protocol(self, tmp_path: Path) -> None:
        """The class has every part of the protocol, accepts known signals, and refuses an unknown key."""
        kind = self.kind()
        assert kind.accepts <= set(SIGNALS)
        assert isinstance(kind.per_run, bool)
        with pytest.raises(ValidationError):
            kind.Config.model_validate({**self.config, "no_such_key": 1})
        backend = self.open(tmp_path)
        assert isinstance(backend, Backend)
        backend.close()

    def test_takes_every_signal(self, tmp_path: Path) -> None:
        """A whole run arrives: each record it accepts, once."""
        records = Sampler().everything()
        assert self.deliver(tmp_path, records) == []
        self.check(tmp_path, records)

    def test_state_is_json(self, tmp_path: Path) -> None:
        """The state survives its round trip through JSON, and later writes do not change it."""
        backend = self.open(tmp_path)
        deliver(backend, Sampler().everything(1)[:-1])
        state = backend.checkpoint()
        kept = json.dumps(state, allow_nan=False)
        deliver(backend, [Sampler().metrics(9), Sampler().trajectory(9), Sampler().finished()])
        assert json.dumps(state) == kept
        backend.checkpoint()
        backend.close()

    def test_writes_nothing_gladly(self, tmp_path: Path) -> None:
        """An empty batch and empty records are no error."""
        sampler = Sampler()
        backend = self.open(tmp_path)
        backend.write([])
        empty: list[Record] = [
            sampler.started(config={}),
            sampler.metrics(1, {}),
            sampler.trajectory(1, messages=[], reward=None),
            sampler.artifact("empty.bin", b""),
        ]
        assert deliver(backend, empty) == []
        backend.checkpoint()
        backend.close()
        self.check(tmp_path, empty)

    def test_takes_odd_values(self, tmp_path: Path) -> None:
        """NaN, infinities, NUL, emoji, empty and endless strings neither fail nor disturb what stands beside them."""
        sampler = Sampler()
        neighbours: list[Record] = [sampler.metrics(1), sampler.trajectory(1, "near"), sampler.metrics(2)]
        assert self.deliver(tmp_path, [sampler.started(), neighbours[0], *odd_records(sampler), *neighbours[1:]]) == []
        found = self.read(tmp_path, sampler.run)
        wanted = expected(neighbours, sampler.run)
        for name in ("metrics", "trajectories"):
            got, value = getattr(found, name), getattr(wanted, name)
            if got is not None:
                for key, seen in value.items():
                    assert comparable(got.get(key)) == comparable(seen), f"{name}: {key} was disturbed"

    def test_keeps_odd_names_apart(self, tmp_path: Path) -> None:
        """Metrics whose names differ in odd characters only stay different, and their names can be had back."""
        sampler = Sampler()
        assert self.deliver(tmp_path, [sampler.started(), odd_metrics(sampler)]) == []
        metrics = self.read(tmp_path, sampler.run).metrics
        if metrics is not None:
            assert {name: points for name, points in metrics.items() if name in ODD_NAMES} == {
                name: [(1, float(place))] for place, name in enumerate(ODD_NAMES)
            }

    def test_takes_huge_records(self, tmp_path: Path) -> None:
        """Very many metrics in one record, a message of a megabyte, sixty turns."""
        sampler = Sampler()
        big = sampler.conversation()
        big[1] = {"role": "user", "content": "x" * (1 << 20)}
        records: list[Record] = [
            sampler.started(),
            sampler.metrics(1, {f"many/{number}": float(number) for number in range(self.many)}),
            sampler.trajectory(1, "long", messages=big),
            sampler.trajectory(1, "deep", turns=60),
        ]
        assert self.deliver(tmp_path, records) == []
        self.check(tmp_path, records)

    def test_keeps_late_steps(self, tmp_path: Path) -> None:
        """A step that comes after a higher one is kept, each with its own values."""
        sampler = Sampler()
        records: list[Record] = [sampler.started(), *(sampler.metrics(step) for step in (5, 3, 10, 4))]
        backend = self.open(tmp_path)
        for record in records:
            assert deliver(backend, [record]) == []
        backend.checkpoint()
        backend.close()
        self.check(tmp_path, records)

    def test_keeps_runs_apart(self, tmp_path: Path) -> None:
        """Two runs of one name whose records come mixed arrive as two runs."""
        first, second = Sampler("run-1"), Sampler("run-2")
        pairs = zip(first.everything(), second.everything(), strict=True)
        records = [record for pair in pairs for record in pair]
        if self.kind().per_run:
            for sampler in (first, second):
                self.deliver(tmp_path / sampler.run, sampler.everything())
                self.check(tmp_path / sampler.run, records, sampler.run)
            return
        assert self.deliver(tmp_path, records) == []
        self.check(tmp_path, records, "run-1")
        self.check(tmp_path, records, "run-2")

    @pytest.mark.parametrize("cut", [1, 5, 9])
    def test_survives_a_kill(self, tmp_path: Path, cut: int) -> None:
        """Killed after any part of a run was written but not acknowledged, a successor makes it whole: nothing lost, nothing twice."""
        records = Sampler().everything()
        backend = self.open(tmp_path)
        deliver(backend, records[:cut])
        state = json.loads(json.dumps(backend.checkpoint()))
        backend.close()
        self.die(tmp_path, state, records[cut : cut + 6])
        assert self.deliver(tmp_path, records[cut:], state) == []
        self.check(tmp_path, records)

    def test_survives_a_kill_before_the_first_checkpoint(self, tmp_path: Path) -> None:
        """Killed twice in its first moments, it starts again from nothing and ends whole."""
        records = Sampler().everything()
        self.die(tmp_path, {}, records[:8])
        self.die(tmp_path, {}, records)
        assert self.deliver(tmp_path, records) == []
        self.check(tmp_path, records)

    def test_goes_on_in_the_same_run(self, tmp_path: Path) -> None:
        """A run that is started again after its end goes on in the same place, and its late points are there."""
        sampler = Sampler()
        first: list[Record] = [sampler.started(), sampler.metrics(1), sampler.finished("aborted")]
        second: list[Record] = [sampler.started(attempt=1), sampler.metrics(2)]
        backend = self.open(tmp_path)
        deliver(backend, first)
        state = json.loads(json.dumps(backend.checkpoint()))
        backend.close()
        successor = self.open(tmp_path, state)
        deliver(successor, second)
        state = json.loads(json.dumps(successor.checkpoint()))
        self.check(tmp_path, [*first, *second])
        deliver(successor, [sampler.finished()])
        successor.checkpoint()
        successor.close()
        self.check(tmp_path, [*first, *second, sampler.finished()])

    def test_loses_nothing_at_close(self, tmp_path: Path) -> None:
        """What a checkpoint covered is there after `close`, and closing without another write adds nothing."""
        records = Sampler().everything(1)[:-1]
        backend = self.open(tmp_path)
        deliver(backend, records)
        state = json.loads(json.dumps(backend.checkpoint()))
        backend.close()
        self.check(tmp_path, records)
        again = self.open(tmp_path, state)
        again.checkpoint()
        again.close()
        self.check(tmp_path, records)

    def test_sets_one_bad_record_aside(self, tmp_path: Path) -> None:
        """A record that cannot be taken is the only one that does not arrive."""
        poison = self.poison()
        if poison is None:
            pytest.skip("this backend takes everything; a subclass can name a record it rejects in `poison`")
        sampler = Sampler()
        good: list[Record] = [sampler.started(), sampler.metrics(1), sampler.trajectory(1), sampler.metrics(2), sampler.table(2)]
        assert self.deliver(tmp_path, [*good[:3], poison, *good[3:]]) == [poison]
        self.check(tmp_path, good)


def comparable(value: Any) -> Any:
    """Return `value` so that order where none is promised, NaN, and keys without a value do not matter."""
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, bool):
        return float(value)
    if hasattr(value, "__dataclass_fields__"):
        return {"messages": value.messages, "rewards": sorted(value.rewards), "spans": value.spans}
    if isinstance(value, dict):
        return {key: comparable(item) for key, item in value.items() if item is not None}
    if isinstance(value, list) and value and isinstance(value[0], tuple):
        return Counter((step, comparable(point)) for step, point in value)
    if isinstance(value, list):
        return sorted(value) if value and isinstance(value[0], str) else [comparable(item) for item in value]
    return value
