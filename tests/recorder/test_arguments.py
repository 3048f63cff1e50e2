"""Arguments of `init` that are of another type than they have to be."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import rollscope.recorder as R
from rollscope import vocabulary as v
from rollscope.errors import ConfigurationError
from rollscope.records import Event, Record

ReadBack = Callable[..., list[Record]]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"project": 5}, "project is no text: 5; give project='5'"),
        ({"run_id": 5}, "run_id is no text: 5"),
        ({"endpoint": 5}, "endpoint is no text: 5"),
        ({"experiment": "\ud800"}, "experiment cannot be written down"),
        ({"directory": 5}, "directory is no path: 5"),
        ({"directory": "a\0b"}, "directory cannot be written down"),
        ({"attempt": "x"}, "attempt is no number from 0 on: 'x'"),
        ({"attempt": 1.5}, "attempt is no number from 0 on: 1.5"),
        ({"attempt": 1 << 80}, "attempt is no number from 0 on"),
        ({"rank": -3}, "rank is no number from 0 on: -3; give rank=0 or more, or leave it out"),
        ({"backends": 5}, "backends is no list: 5"),
        ({"tags": 5}, "tags is no list: 5"),
        ({"config": [1]}, "config is no map: [1]"),
        ({"capture": 5}, "capture is no kind of content: 5"),
        ({"redact": ["a"]}, "redact is no map: ['a']"),
    ],
)
def test_a_wrong_type_is_named_and_nothing_is_begun(given: dict[str, Any], said: str) -> None:
    """With the argument, its value and the cure; the environment and the disk are as before."""
    before = dict(os.environ)
    with pytest.raises(ConfigurationError) as raised:
        R.init(**{"project": "p", "experiment": "e", **given})
    assert str(raised.value).startswith(said)
    assert dict(os.environ) == before
    assert not Path("rollscope").exists()
    assert R.current() is None


def test_a_working_directory_that_is_gone_is_named(tmp_path: Path) -> None:
    """Where a path is relative to it."""
    gone = tmp_path / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    with pytest.raises(ConfigurationError, match="the working directory is gone"):
        R.init("p", "e")
    os.chdir(tmp_path)


@dataclass
class Config:
    lr: float = 1e-6


@pytest.mark.parametrize("config", [{"lr": 1e-6}, Config(), argparse.Namespace(lr=1e-6)], ids=["map", "dataclass", "argparse"])
def test_configurations_of_every_usual_kind(config: object, read_back: ReadBack) -> None:
    """Maps, dataclasses and parsed arguments are recorded alike; a bare string is one tag."""
    R.init("p", "e", config=config, tags="baseline", circumstances=False)
    R.finish()
    (started,) = (record for record in read_back() if isinstance(record, Event) and record.name == v.EVENT_RUN_STARTED)
    assert json.loads(started.attributes[v.RUN_CONFIG]) == {"lr": 1e-6}
    assert started.attributes[v.RUN_TAGS] == ["baseline"]
