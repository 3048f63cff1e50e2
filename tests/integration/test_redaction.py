"""A secret that a run wants redacted is in no file behind its node: not in the inbox, the store, MLflow or JSONL."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rollscope.tokens import pack_ids
from tests.waiting import until

pytestmark = pytest.mark.integration
PROGRAM = Path(__file__).with_name("secretive_program.py")
SECRET = "sk-veryMuch4Private"


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory, mlflow_store: Path) -> tuple[Path, list[int], dict[str, object]]:
    """Storage, ids of the secret and the ledger, after the program has run and everything is delivered."""
    folder = tmp_path_factory.mktemp("secretive")
    (folder / "rollscope").mkdir()
    shutil.copy(mlflow_store, folder / "rollscope" / "mlflow.db")
    env = {name: text for name, text in os.environ.items() if not name.startswith(("ROLLSCOPE", "OTEL_"))}
    env["ROLLSCOPE_SHIPPER_GRACE"] = "0.5"
    done = subprocess.run(
        [sys.executable, str(PROGRAM), SECRET], cwd=folder, env=env, check=True, capture_output=True, text=True, timeout=300
    )
    command = [sys.executable, "-m", "rollscope_exporters.cli", "ledger", "--wait", "90", "--json"]
    ledger = json.loads(subprocess.run(command, cwd=folder, env=env, check=False, capture_output=True, text=True).stdout)
    until(
        lambda: (
            not (folder / "rollscope" / "journal" / "producers").is_dir() or not list((folder / "rollscope/journal/producers").iterdir())
        )
    )
    return folder / "rollscope", json.loads(done.stdout.splitlines()[-1]), ledger["runs"][-1]


def files_behind(storage: Path) -> list[Path]:
    """Every file that came from beyond the node: all but the journal."""
    return [path for path in storage.rglob("*") if path.is_file() and storage / "journal" not in path.parents]


def test_everything_arrived(ran: tuple[Path, list[int], dict[str, object]]) -> None:
    """And the ledger says that values were replaced."""
    storage, _, run = ran
    assert run["verdict"] == "complete", run
    assert "redacted: patterns" in str(run["notes"])
    names = {path.relative_to(storage).parts[0] for path in files_behind(storage)}
    assert {"store.db", "mlflow.db", "jsonl", "mlartifacts"} <= names


def test_the_secret_is_in_no_file(ran: tuple[Path, list[int], dict[str, object]]) -> None:
    """Nor the password that stands beside it, nor its token ids, packed or as a list."""
    storage, ids, _ = ran
    hidden = [SECRET.encode(), b"hunter2", pack_ids(ids), json.dumps(ids).encode()[1:-1], ",".join(map(str, ids)).encode()]
    found = {(path.name, what) for path in files_behind(storage) for what in hidden if what in path.read_bytes()}
    assert not found


def test_what_stood_around_it_is_there(ran: tuple[Path, list[int], dict[str, object]]) -> None:
    """Texts are cut where the secret was and nowhere else."""
    storage, _, _ = ran
    written = b"".join(path.read_bytes() for path in (storage / "jsonl").rglob("*") if path.is_file()).decode()
    for text in ("my key is [redacted], log in", "use [redacted] now", "loss of [redacted]", "query [redacted]", "key [redacted]", "lr"):
        assert text in written, text
