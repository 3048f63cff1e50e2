"""Images and histograms in MLflow, read back by its own client."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from rollscope_exporters.backends.mlflow import MlflowBackend, MlflowConfig
from rollscope_exporters.backends.mlflow._chat import chat_spans
from rollscope_exporters.images import data_uri
from rollscope_exporters.records import Record
from rollscope_exporters.testing import Sampler

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning")  # MLflow's own

CONTENT = b"\x89PNG" + b"x" * 300
REFERENCE = "rollscope-image:sha256:" + "a" * 64 + ";image/png"


@pytest.fixture
def backend(tmp_path: Path, mlflow_store: Path) -> Iterator[MlflowBackend]:
    shutil.copy(mlflow_store, tmp_path / "mlflow.db")
    made = MlflowBackend(MlflowConfig(), tmp_path, {})
    yield made
    made.close()


def run_of(backend: MlflowBackend) -> Any:
    """The only run."""
    client = backend._connection.client
    return client.search_runs(backend._connection.all_experiments())[0]


def files_in(backend: MlflowBackend, folder: str) -> dict[str, bytes]:
    """Files of one folder of the run's artifacts."""
    client, run_id = backend._connection.client, run_of(backend).info.run_id
    return {file.path: Path(client.download_artifacts(run_id, file.path)).read_bytes() for file in client.list_artifacts(run_id, folder)}


def test_images_lie_where_image_charts_look(backend: MlflowBackend) -> None:
    """Original, small WebP and caption, spelled as MLflow's `log_image` does; written twice they are there once."""
    sampler = Sampler()
    records: list[Record] = [sampler.started(), sampler.image(3, "val/a b+c")]
    backend.write(records)
    backend.write(records)
    found = files_in(backend, "images")
    originals = [path for path in found if path.endswith(".png")]
    assert len(found) == 3
    name, _, step, _, timestamp, _ = originals[0].removeprefix("images/").split("+")
    assert (name, step, int(timestamp)) == ("val~a b_x2b_c", "3", sampler.moment(3) // 1_000_000)
    assert found[originals[0]] == sampler.image(3).content
    from PIL import Image

    thumbnail = next(content for path, content in found.items() if path.endswith("+compressed.webp"))
    assert Image.open(BytesIO(thumbnail)).format == "WEBP"
    assert b"step 3" in found.values()
    assert run_of(backend).data.tags["mlflow.loggedImages"] == "True"


def test_images_without_content_and_of_messages(backend: MlflowBackend) -> None:
    """A missing one leaves a note; one of a message goes by its digest, and is no image chart."""
    sampler = Sampler()
    missing = replace(sampler.image(1), content=None, note="content not sent: too large")
    backend.write([sampler.started(), missing, replace(sampler.image(2), name="", caption="", trajectory="0" * 32)])
    assert [content.decode().splitlines()[0] for content in files_in(backend, "images").values()] == ["content not sent: too large"]
    (path,) = files_in(backend, "message_images")
    assert path == f"message_images/{sampler.image(2).digest.removeprefix('sha256:')}.png"


def test_histograms_are_files_and_lines(backend: MlflowBackend) -> None:
    """Edges and counts as JSON, quantiles as metrics at the step."""
    sampler = Sampler()
    backend.write([sampler.started(), sampler.histogram(4)])
    (content,) = files_in(backend, "histograms/reward/dist").values()
    assert json.loads(content)["counts"] == [4, 0, 1, 4]
    metrics = run_of(backend).data.metrics
    assert (metrics["reward/dist/p50"], metrics["reward/dist/mean"], metrics["reward/dist/nan"]) == (0.625, 0.5, 1.0)
    assert backend._connection.client.get_metric_history(run_of(backend).info.run_id, "reward/dist/p50")[0].step == 4


def test_messages_show_their_images() -> None:
    """The root and each generation get them back as `data:` URIs, which the chat view renders; over the limit references stay."""
    sampler = Sampler()
    messages = sampler.conversation(turns=2)
    messages[1] = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": REFERENCE}}]}
    trajectory = replace(sampler.trajectory(messages=messages), images={REFERENCE: CONTENT})
    shown = [str(attributes.get("mlflow.spanInputs", "")) for _, _, attributes in chat_spans(trajectory, 1 << 20, 1 << 20)]
    assert sum(data_uri(REFERENCE, CONTENT) in inputs for inputs in shown) == 3
    assert not any(REFERENCE in inputs for inputs in shown)
    small = [str(attributes.get("mlflow.spanInputs", "")) for _, _, attributes in chat_spans(trajectory, 1 << 20, 1 << 20, 100)]
    assert sum(data_uri(REFERENCE, CONTENT) in inputs for inputs in small) == 1
    assert sum(REFERENCE in inputs for inputs in small) == 2
