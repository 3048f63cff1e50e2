"""Images and histograms on their way through the bridge."""

from __future__ import annotations

import base64
import random
from pathlib import Path

import pytest

import rollscope as rs
from rollscope import vocabulary as v
from rollscope_exporters.images import restored
from rollscope_exporters.pipeline import images
from rollscope_exporters.records import Histogram, Image, Trajectory
from rollscope_exporters.store import Store, schema

from ..bridge import Bridge
from ..wire import Process, process, requests, singly

CONTENT = b"\x89PNG\r\n\x1a\n" + random.Random(1).randbytes(500_000)
URI = "data:image/png;base64," + base64.b64encode(CONTENT).decode()
MESSAGES = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": URI}}]}]


def announce(bridge: Bridge, worker: Process) -> None:
    """Begin the run."""
    worker.memory.recorder.event(v.EVENT_RUN_STARTED, {}, priority=0)
    bridge.take(requests(worker.items()))


def rollout(index: int) -> None:
    """A trajectory that sees the image."""
    with rs.trajectory(group="g", index=index), rs.generation(messages=MESSAGES) as generation:
        generation.output("a picture")


def test_a_histogram_arrives_as_it_was_binned(bridge: Bridge) -> None:
    """Edges, counts, sums and what was not finite."""
    with process() as worker:
        announce(bridge, worker)
        rs.histogram("h", [0.0, 1.0, 3.0, float("nan"), float("inf")], step=2, bins=3)
        rs.histogram("none", [], step=2)
        bridge.take(requests(worker.items()))
    found, empty = bridge.of(Histogram)
    assert (found.name, found.step, found.edges, found.counts) == ("h", 2, [0.0, 1.0, 2.0, 3.0], [1, 1, 1])
    assert (found.count, found.sum, found.min, found.max, found.nan, found.positive_infinite) == (3, 4.0, 0.0, 3.0, 1, 1)
    assert (empty.edges, empty.counts, empty.count, empty.min) == ([], [], 0, None)


@pytest.mark.parametrize("seed", range(3))
def test_pieces_are_joined_and_references_filled(bridge: Bridge, seed: int) -> None:
    """In any order, twice, over a restart: each image has its content, and every record counts once."""
    with process() as worker:
        announce(bridge, worker)
        for step in range(3):
            rs.image("plot", CONTENT, step=step)
        sent = singly(worker.items()) * 2
    random.Random(seed).shuffle(sent)
    for n, request in enumerate(sent):
        bridge.take([request])
        if n == 2:
            bridge.restart()
    found = sorted(bridge.of(Image), key=lambda image: image.step or 0)
    assert [(image.name, image.step, image.content) for image in found] == [("plot", step, CONTENT) for step in range(3)]
    assert bridge.sources() == {worker.producer: worker.memory.journal.last_sequence}


def test_trajectories_carry_the_images_of_their_messages(bridge: Bridge) -> None:
    """Each one, also where the content came with another: it is there before the trajectory goes out."""
    with process() as worker:
        announce(bridge, worker)
        for index in range(2):
            rollout(index)
        bridge.take(requests(worker.items()))
    found = bridge.of(Trajectory)
    assert [restored(each.messages, each.images, 1 << 20)[0] for each in found] == MESSAGES * 2
    assert [each.incomplete for each in found] == ["", ""]
    assert [(image.trajectory, image.content is not None) for image in bridge.of(Image)] == [(found[0].id, True), (found[1].id, False)]


def test_a_trajectory_waits_for_its_images(bridge: Bridge) -> None:
    """Spans go before content: without its pieces the trajectory is not whole."""
    with process() as worker:
        announce(bridge, worker)
        rollout(0)
        items = worker.items()
    pieces = [item for item in items if item.what == v.EVENT_IMAGE]
    bridge.take(requests(item for item in items if item.what != v.EVENT_IMAGE))
    assert bridge.of(Trajectory) == []
    bridge.restart()
    bridge.take(requests(pieces))
    assert len(bridge.of(Trajectory)[0].images) == 1


def test_what_never_comes_is_said(bridge: Bridge) -> None:
    """At the end of the run, references without content and images with pieces missing go out with a note."""
    with process() as worker:
        announce(bridge, worker)
        for step in range(2):
            rs.image("plot", CONTENT, step=step)
        worker.memory.recorder.event(v.EVENT_RUN_FINISHED, {v.RUN_STATUS: "finished"}, priority=0)
        items = worker.items()
        first = next(item for item in items if item.what == v.EVENT_IMAGE)
        bridge.take(requests(item for item in items if item is not first))
    bridge.wait(700)
    assert [(image.content, image.note) for image in bridge.of(Image)] == [(None, "its content never came")] * 2


def test_content_is_bounded(bridge: Bridge, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over the limit the oldest goes; a trajectory whose images are too large keeps references."""
    monkeypatch.setattr(images, "KEPT_BYTES", 700_000)
    monkeypatch.setattr(images, "TRAJECTORY_BYTES", 1000)
    with process() as worker:
        announce(bridge, worker)
        rs.image("a", CONTENT, step=1)
        rs.image("b", CONTENT + b"2", step=1)
        rollout(0)
        bridge.take(requests(worker.items()))
    kept = [size for (size,) in bridge.store.db.execute("SELECT size FROM images")]
    assert sum(kept) <= 700_000
    assert bridge.of(Trajectory)[0].images == {}


def test_wrong_content_is_not_kept(bridge: Bridge) -> None:
    """Content that is not what its digest says goes no further."""
    with process() as worker:
        announce(bridge, worker)
        attributes = {v.IMAGE_NAME: "x", v.IMAGE_DIGEST: "sha256:0", v.IMAGE_CHUNK_COUNT: 1, v.IMAGE_CONTENT: b"1"}
        worker.memory.recorder.event(v.EVENT_IMAGE, attributes)
        worker.memory.recorder.event(v.EVENT_IMAGE, {v.IMAGE_NAME: "x"})
        bridge.take(requests(worker.items()))
    (found,) = bridge.of(Image)
    assert (found.content, found.note) == (None, "its content is not what its digest says")


def test_an_older_store_gets_the_tables(tmp_path: Path) -> None:
    """A store of the first layout is brought up to date, with what it holds."""
    with Store.open(tmp_path / "store.db") as store:
        for table in ("images", "image_pieces"):
            store.db.execute(f"DROP TABLE {table}")
        store.db.execute("PRAGMA user_version = 1")
    bridge = Bridge(tmp_path)
    assert schema.version(bridge.store.db) == schema.VERSION
    assert bridge.store.db.execute("SELECT count(*) FROM images").fetchone() == (0,)
