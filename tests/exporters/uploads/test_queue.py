"""The folder of orders."""

from __future__ import annotations

from pathlib import Path

import pytest

from rollscope_exporters.uploads import Order, OrderFolder, queue, read_uploads, under_way

from .checkpoints import recorded


def order(place: Path, uid: str, run: str = "run-1") -> Order:
    return Order(artifact=recorded(place, uid=uid, run=run), target={"to": "there"})


def test_an_order_is_known_for_good(tmp_path: Path) -> None:
    """Given twice it counts once, also when it is done; another process sees it as it was."""
    orders = OrderFolder(tmp_path, "mlflow")
    first = order(tmp_path, "u1")
    assert orders.add(first)
    assert not orders.add(order(tmp_path, "u1"))
    first.done.append("config.json")
    orders.save(first)
    (found,) = OrderFolder(tmp_path, "mlflow").open_orders()
    assert (found.done, found.target, found.artifact) == (["config.json"], {"to": "there"}, first.artifact)
    first.finished = True
    orders.save(first)
    assert list(orders.open_orders()) == []
    assert not orders.add(order(tmp_path, "u1"))


def test_what_is_left_and_what_failed_can_be_read(tmp_path: Path) -> None:
    """For one run or all of them; what is done is not listed; a broken file is passed over."""
    assert read_uploads(tmp_path) == []
    orders = OrderFolder(tmp_path, "mlflow")
    failed, left = order(tmp_path, "u1"), order(tmp_path, "u2", "run-2")
    orders.add(failed)
    failed.failed = "it was changed"
    orders.save(failed)
    assert not under_way(tmp_path)
    orders.add(left)
    (tmp_path / "uploads" / "mlflow" / "broken.json").write_bytes(b"{")
    assert read_uploads(tmp_path, "run-1") == [("mlflow", "model ckpt/step-10", "it was changed")]
    assert len(read_uploads(tmp_path)) == 2
    assert under_way(tmp_path)


def test_orders_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the limit one is given up at once, and says why; done ones are forgotten, the oldest first."""
    monkeypatch.setattr(queue, "_MOST_OPEN", 1)
    monkeypatch.setattr(queue, "_KEPT", 1)
    orders = OrderFolder(tmp_path, "mlflow")
    orders.add(order(tmp_path, "u1"))
    orders.add(order(tmp_path, "u2"))
    assert [upload.failed for upload in read_uploads(tmp_path) if upload.failed] == ["1 uploads wait already"]
    (open_order,) = orders.open_orders()
    open_order.finished = True
    orders.save(open_order)
    third = order(tmp_path, "u3")
    orders.add(third)
    third.finished = True
    orders.save(third)
    assert len(list((tmp_path / "uploads" / "mlflow").glob("*.json"))) == 2
