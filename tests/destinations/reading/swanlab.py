"""SwanLab's folder by its own reader."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tests.destinations.facts import As, Held, Partly, leaves, spelled
from tests.destinations.program import UNUSUAL, VALUES
from tests.destinations.reading.digests import of_texts
from tests.exporters.backends.swanlab.reading import config, folders_of, images, media, protobuf, scalars, status


def read(storage: Path, told: dict[str, Any]) -> Held:
    """Scalars, texts, images and the configuration."""
    root = storage / "swanlog"
    (folder,) = folders_of(root, told["run"])
    (start,) = (record.start for record in protobuf(folder) if record.HasField("start"))
    settings = config(folder)
    ours = settings.pop("rollscope")
    points = {(point.key, point.step): point for point in scalars(folder)}
    shown, pictures = media(folder), images(folder)
    ((plot, caption),) = pictures["images/val/plot"][3]
    ((content, _),) = shown["tables/val/generations"][3]
    (demo,) = folders_of(root, told["demo"])
    hosts = {point.key.rpartition("/")[2] for point in scalars(demo) if point.key.startswith("system/")}
    quantiles = [points[f"reward/dist/{name}", 3].value for name in ("min", "p05", "p25", "p50", "p75", "p95", "max")]
    assert quantiles == sorted(quantiles)
    assert (quantiles[0], quantiles[-1]) == (0.0, 1.0)
    return {
        "run.id": start.id,
        "run.name": start.name,
        "run.config": leaves(settings),
        "run.tags": sorted(start.tags),
        "run.notes": start.description,
        "run.python": As(ours["circumstances"]["python"], "in the configuration"),
        "run.end": status(folder),
        "metric.value": {name: (3, points[name, 3].value) for name in VALUES},
        "metric.late": (2, points["reward/mean", 2].value),
        "metric.time": {name: points[name, 3].time for name in VALUES},
        "metric.unusual": {name: spelled(points[name, 3].value) for name in UNUSUAL},
        "metric.word": As(shown["texts/phase/name"][3][0][0], "text"),
        "metric.hosts": As(sorted(hosts & {"cpu.utilization", "memory.utilization"}), "charts below `system/`"),
        "histogram.bins": Partly("lines of quantiles"),
        "histogram.nan": As(points["reward/dist/nan", 3].value, "a line"),
        "image.bytes": (3, plot),
        "image.caption": caption,
        "table.rows": As((3, [json.loads(line) for line in content.splitlines()]), "table; text in its local pages"),
        **_trajectories(shown, pictures, told),
    }


def _trajectories(shown: dict[str, Any], pictures: dict[str, Any], told: dict[str, Any]) -> Held:
    messages = {caption: (step, json.loads(content)) for step, content, caption in _of(shown, "messages/train")}
    ((_, picture, _),) = _of(pictures, "message_images/train")
    step, conversation = messages[told["trajectory"]]
    return {
        "trajectory.messages": As(conversation, "text"),
        "trajectory.image": As(picture, "beside the text"),
        "trajectory.step": step,
        **of_texts([text for _, text, _ in _of(shown, "trajectories/train")], [text for _, text, _ in _of(shown, "late_rewards")], "text"),
    }


def _of(media: dict[str, Any], key: str) -> list[tuple[int, Any, str]]:
    """Step, content and caption of everything under a key; a second digest of a step goes by a number behind it."""
    own = [steps for name, steps in media.items() if re.fullmatch(rf"{key}(/\d+)?", name)]
    return [(step, content, caption) for steps in own for step, items in steps.items() for content, caption in items]
