"""The Collector's own word on our configuration files, and ours on the names they use."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from rollscope.vocabulary import REGISTRY
from tests import components
from tests.collector.configurations import ROOT, USES, Use, arguments, environment

pytestmark = pytest.mark.integration
OTHERS = {"bridge.yaml", "compose.yaml"}
FILES = sorted({path.relative_to(ROOT).as_posix() for path in [*ROOT.glob("*.yaml"), *ROOT.glob("overlays/*.yaml")]} - OTHERS)
NAME = re.compile(r"\b(?:rl|gen_ai)\.[a-z_]+(?:\.[a-z_]+)*")


def validate(use: Use, folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """Ask the binary what it thinks of the files."""
    command = [str(components.collector(use.binary)), "validate", *arguments(use.files), *more]
    return subprocess.run(command, env=environment(folder), capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("use", USES, ids=lambda use: "+".join(Path(name).stem for name in use.files))
def test_the_binary_accepts_each_configuration(use: Use, tmp_path: Path) -> None:
    """`validate` of the very binary that is built from our manifest finds nothing wrong."""
    done = validate(use, tmp_path)
    complaints = [line for line in done.stderr.splitlines() if "application version" not in line]  # Jaeger says it every time
    assert (done.returncode, complaints) == (0, [])


def test_the_binary_names_a_misspelt_key(tmp_path: Path) -> None:
    """A key that does not exist is refused by name: the test above can fail."""
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("processors: {memory_limiter: {limit_mibs: 3}}\n", encoding="utf-8")
    done = validate(USES[0], tmp_path, "--config", str(wrong))
    assert done.returncode != 0
    assert "limit_mibs" in done.stderr


def test_every_file_is_validated() -> None:
    """A configuration file that no use names would go unchecked."""
    assert sorted({name for use in USES for name in use.files}) == FILES


@pytest.mark.parametrize("name", FILES)
def test_names_are_in_the_vocabulary(name: str) -> None:
    """Every `rl.*` and `gen_ai.*` name in a configuration is one of ours."""
    text = (ROOT / name).read_text(encoding="utf-8")
    known = {entry for _, entry in REGISTRY} | {"rl.spans"}
    assert set(NAME.findall(text)) <= known | {"gen_ai.system_instructions"}
