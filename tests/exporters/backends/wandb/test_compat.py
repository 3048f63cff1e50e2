"""Canary: what the backend uses of W&B without a promise is still there."""

from __future__ import annotations

from pathlib import Path

import pytest
import wandb
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from rollscope_exporters.backends._logfile import LogFile
from rollscope_exporters.backends.wandb import WandbConfig
from rollscope_exporters.backends.wandb._artifacts import make_checkpoint
from rollscope_exporters.backends.wandb._client import Client
from rollscope_exporters.backends.wandb._compat import (
    SUPPORTED,
    LoggedEnd,
    LoggedRow,
    abandon_client,
    artifact_id,
    client_id,
    file_digest,
    is_alive,
    is_committed,
    log_path,
    media_path,
    own_client,
    parse_record,
    private_settings,
    run_folders,
)
from rollscope_exporters.backends.wandb._identity import identity_of
from rollscope_exporters.backends.wandb._rows import Cells
from rollscope_exporters.backends.wandb._server import Server
from rollscope_exporters.testing import Sampler
from tests.exporters.uploads.checkpoints import recorded

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
CONFIG = WandbConfig(mode="offline", flush_interval=0.05)


def test_the_installed_version_is_a_supported_one() -> None:
    """Another minor version needs this file to be read again."""
    assert Version(wandb.__version__) in SpecifierSet(SUPPORTED)


def test_every_private_setting_exists() -> None:
    """A setting that was renamed would be refused."""
    wandb.Settings(**private_settings(CONFIG))


@pytest.mark.integration
def test_the_transaction_log_is_understood(tmp_path: Path) -> None:
    """Rows, tables, interruption and end come out of the log as they went in."""
    client = Client(CONFIG, Server(CONFIG), tmp_path, identity_of(Sampler().started(), CONFIG, {}), False)
    client.log(0, {"a.b": 1, "table": Cells(["x"], [["1"]])})
    client.wait()
    client.finish(1, interrupted=True)
    (folder,) = run_folders(tmp_path / "wandb", "run-1")
    found = [record for raw in LogFile(log_path(folder, "run-1")).read() if (record := parse_record(raw))]
    (row,) = [record for record in found if isinstance(record, LoggedRow)]
    assert (row.values["a.b"], row.number, row.values["table"]["_type"]) == (1, 0, "table-file")
    assert [record.kind for record in found if isinstance(record, LoggedEnd)] == ["preempting", "exit"]


@pytest.mark.integration
def test_the_service_can_be_abandoned(tmp_path: Path) -> None:
    """After the service was killed, a new run starts another."""
    client = Client(CONFIG, Server(CONFIG), tmp_path, identity_of(Sampler().started(), CONFIG, {}), False)
    client.log(0, {"a": 1})
    abandon_client()
    own_client()
    again = Client(CONFIG, Server(CONFIG), tmp_path, identity_of(Sampler("run-2").started(), CONFIG, {}), False)
    again.log(0, {"a": 1})
    again.wait()
    again.finish(0)
    abandon_client()


@pytest.mark.integration
def test_media_and_artifacts_are_where_they_are_looked_for(tmp_path: Path) -> None:
    """A bound table makes a file of the name that its row has, and no artifact; an artifact of known digests is named in the log."""
    client = Client(CONFIG, Server(CONFIG), tmp_path, identity_of(Sampler().started(), CONFIG, {}), False)
    (name,) = client.log(0, {"table": Cells(["x"], [["1"]])})
    (tmp_path / "w.bin").write_bytes(b"w")
    made = make_checkpoint(recorded(tmp_path / "w.bin"), {"w.bin": (tmp_path / "w.bin", file_digest(tmp_path / "w.bin"))})
    client.hand_over(made, None)
    client.wait()
    assert is_alive()
    assert is_committed(made, 0.0)
    client.finish(0)
    (folder,) = run_folders(tmp_path / "wandb", "run-1")
    assert media_path(folder, name).exists()
    raw = list(LogFile(log_path(folder, "run-1")).read())
    assert [row.media for record in raw if isinstance(row := parse_record(record), LoggedRow)] == [[name]]
    assert [found for record in raw if (found := artifact_id(record))] == [client_id(made)]
    abandon_client()
    assert not is_alive()
