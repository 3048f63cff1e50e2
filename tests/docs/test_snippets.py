"""Every snippet of the documentation works as written."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rollscope_exporters import settings
from rollscope_exporters.settings import _plugins
from tests.toml import tomllib

from .blocks import PAGES, ROOT, Block, blocks
from .commands import UnknownCommandError, check


@pytest.mark.parametrize("block", list(blocks("python")), ids=str)
def test_python_runs(block: Block, tmp_path: Path) -> None:
    """A Python block runs by itself in an empty folder, with warnings as errors."""
    environment = {**os.environ, "ROLLSCOPE_SHIPPER": "off", "ROLLSCOPE_DIR": str(tmp_path / "journal")}
    program = tmp_path / "snippet.py"
    program.write_text(block.text, encoding="utf-8")
    (tmp_path / "config.yaml").write_text("lr: 1e-6\n")
    command = [sys.executable, "-W", "error", str(program)]
    result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 0, result.stderr


@pytest.fixture
def custom_backend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worked example of a backend is installed."""
    example = ROOT / "examples" / "custom_backend"
    project = tomllib.loads((example / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    metadata = tmp_path / "rollscope_sqlite-0.1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: rollscope-sqlite\nVersion: 0.1.0\n")
    points = "\n".join(f"{name} = {place}" for name, place in project["entry-points"]["rollscope.backends"].items())
    (metadata / "entry_points.txt").write_text(f"[rollscope.backends]\n{points}\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.syspath_prepend(example)
    monkeypatch.setattr(_plugins, "offered", _plugins.offered.__wrapped__)  # without its memory


@pytest.mark.usefixtures("custom_backend")
@pytest.mark.parametrize("block", list(blocks("yaml")), ids=str)
def test_yaml_is_a_valid_configuration(block: Block, tmp_path: Path) -> None:
    """A YAML block is a configuration that the bridge accepts."""
    path = tmp_path / "rollscope.yaml"
    path.write_text(block.text, encoding="utf-8")
    settings.load(path, {})


@pytest.mark.parametrize("block", list(blocks("bash")), ids=str)
def test_commands_exist(block: Block) -> None:
    """Each command of a shell block has the target, sub-command, options and variables it uses."""
    for line in block.text.replace("\\\n", " ").splitlines():
        check(line)


@pytest.mark.parametrize(
    "line",
    [
        "make nothing",
        "rollscope ledge",
        "rollscope ledger --wiat 3",
        "ROLLSCOPE_DRI=x make test",
        "pip install 'rollscope[nothing]'",
        "frob",
        "rollscope-collector --config collector-config/agnet.yaml",
    ],
)
def test_a_wrong_command_is_found(line: str) -> None:
    """The check above notices a wrong target, sub-command, option, variable, extra or program."""
    with pytest.raises(UnknownCommandError):
        check(line)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    """A relative link points to a file of the repository."""
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    broken = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert broken == []


def test_the_chinese_pages_have_the_same_snippets() -> None:
    """A translated page shows the same commands and code as its original."""
    for translated in ROOT.glob("**/*.zh-CN.md"):
        original = translated.with_name(translated.name.replace(".zh-CN", ""))
        for language in ("bash", "yaml"):
            ours = [_without_comments(block.text) for block in blocks(language) if block.page == translated]
            theirs = [_without_comments(block.text) for block in blocks(language) if block.page == original]
            assert ours == theirs, translated.name


def _without_comments(text: str) -> str:
    return re.sub(r"\s*#.*", "", text)
