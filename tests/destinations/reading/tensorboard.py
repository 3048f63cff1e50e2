"""TensorBoard's event files by its own accumulator."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.destinations.facts import As, Held, leaves, spelled
from tests.destinations.program import UNUSUAL, VALUES
from tests.destinations.reading.digests import of_texts
from tests.exporters.backends.tensorboard.reading import accumulate, folders_of, rows_of, scalars, texts


def read(storage: Path, told: dict[str, Any]) -> Held:
    """Scalars, texts and the plug-ins' tensors."""
    from tensorboard.util.tensor_util import make_ndarray

    root = storage / "tensorboard"
    (folder,) = folders_of(root, told["run"])
    events = accumulate(folder)
    about = json.loads(texts(events, "run/about")[0][1][0].removeprefix("```json\n").removesuffix("\n```"))
    points = {name: {step: (value, time) for step, value, time in scalars(events, name)} for name in (*VALUES, *UNUSUAL)}
    (bins,), (plot,) = events.Tensors("histograms/reward/dist"), events.Tensors("images/val/plot")
    edges = make_ndarray(bins.tensor_proto)
    ((table_step, (table,)),) = texts(events, "tables/val/generations")
    demo = accumulate(folders_of(root, told["demo"])[0])
    hosts = {tag.rpartition("/")[2] for tag in demo.Tags()["tensors"] if tag.startswith("system/")}
    return {
        "run.id": As(about["run"], "text"),
        "run.name": As(about["name"], "folder, text"),
        "run.config": As(leaves(about["config"]), "HPARAMS, text"),
        "run.tags": As(sorted(about["tags"]), "text"),
        "run.notes": As(about["notes"], "text"),
        "run.python": As(about["circumstances"]["python"], "text"),
        "run.end": As(texts(events, "run/status")[-1][1][0], "text"),
        "metric.value": {name: (3, points[name][3][0]) for name in VALUES},
        "metric.late": (2, points["reward/mean"][2][0]),
        "metric.time": {name: round(points[name][3][1] * 1e9) for name in VALUES},
        "metric.unusual": {name: spelled(points[name][3][0]) for name in UNUSUAL},
        "metric.word": As(texts(events, "texts/phase/name")[0][1][0], "text"),
        "metric.hosts": As(sorted(hosts & {"cpu.utilization", "memory.utilization"}), "charts below `system/`"),
        "histogram.bins": (bins.step, [*edges[:, 0].tolist(), edges[-1, 1]], edges[:, 2].astype(int).tolist()),
        "image.bytes": (plot.step, bytes(make_ndarray(plot.tensor_proto)[2])),
        "image.caption": As(events.SummaryMetadata("images/val/plot").summary_description, "of the first"),
        "table.rows": As((table_step, rows_of(table)), "text"),
        **_trajectories(events, told),
    }


def _trajectories(events: Any, told: dict[str, Any]) -> Held:
    from tensorboard.util.tensor_util import make_ndarray

    shown = [(step, text) for step, some in texts(events, "trajectories/train") for text in some]
    messages = [text for _, some in texts(events, "messages/train") for text in some]
    (picture,) = events.Tensors("message_images/train")
    late = [text for _, lines in texts(events, "late_rewards") for text in lines] if "late_rewards" in events.Tags()["tensors"] else []
    plain = ["\n".join(line.removeprefix("    ") for line in text.splitlines()) for _, text in shown]
    (place,) = (place for place, text in enumerate(plain) if text.startswith("task-1 #4"))
    return {
        "trajectory.messages": As(json.loads(messages[place]), "text"),
        "trajectory.image": As(bytes(make_ndarray(picture.tensor_proto)[2]), "beside the text"),
        "trajectory.step": shown[place][0],
        **of_texts(plain, late, "text"),
    }
