"""TensorBoard's own server shows what was written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rollscope_exporters.backends.tensorboard import TensorboardBackend, TensorboardConfig
from rollscope_exporters.testing import Sampler, deliver
from tests.fixtures.ports import free_port
from tests.waiting import until

pytestmark = pytest.mark.integration


@pytest.fixture(params=["true", "false"], ids=["fast loading", "slow loading"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A server over two steps of a run, with and without its data server in Rust."""
    made = TensorboardBackend(TensorboardConfig(), tmp_path, {})
    deliver(made, Sampler().everything())
    made.checkpoint()
    port = free_port()
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(tmp_path / "tensorboard"), "--port", str(port)]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    with open(tmp_path / "server.log", "wb") as log:
        server = subprocess.Popen(
            [*command, "--host", "127.0.0.1", f"--load_fast={request.param}"], stdout=log, stderr=log, env=environment
        )
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(20)


def ask(address: str, path: str, **query: str) -> Any:
    with urllib.request.urlopen(f"{address}/data/{path}?{urllib.parse.urlencode(query)}", timeout=10) as answer:
        return json.load(answer)


def shows(address: str, run: str) -> bool:
    """Whether the server answers, and has the run."""
    try:
        return run in ask(address, "plugin/scalars/tags")
    except (urllib.error.URLError, ConnectionError):
        return False


def test_the_pages_get_everything(address: str) -> None:
    """Scalars at their steps and times, trajectories and tables as rendered text, histograms with their bins, images byte for byte."""
    run = "samples/grpo-demo-run-1"
    until(lambda: shows(address, run), 90, say="the server does not show the run")
    shown = ask(address, "plugin/scalars/scalars", run=run, tag="reward/mean")
    assert shown == [[1767225660.0, 1, pytest.approx(0.1)], [1767225720.0, 2, pytest.approx(0.2)]]
    shown = ask(address, "plugin/text/text", run=run, tag="trajectories/train", markdown="true")
    assert "The answer is **1**" in shown[0]["text"]
    table = ask(address, "plugin/text/text", run=run, tag="tables/val/generations", markdown="true")
    assert "<td>2 ✓</td>" in table[0]["text"]
    ((wall, step, bins), _) = ask(address, "plugin/histograms/histograms", run=run, tag="histograms/reward/dist")
    assert (wall, step) == (1767225660.0, 1)
    assert bins == [[0.0, 0.25, 4.0], [0.25, 0.5, 0.0], [0.5, 0.75, 1.0], [0.75, 1.0, 4.0]]
    shown = ask(address, "plugin/images/images", run=run, tag="images/val/plot", sample="0")
    assert [image["step"] for image in shown] == [1, 2]
    with urllib.request.urlopen(f"{address}/data/plugin/images/individualImage?{shown[1]['query']}", timeout=10) as answer:
        assert answer.read() == Sampler().image(2).content
