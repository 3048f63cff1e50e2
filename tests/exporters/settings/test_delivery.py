"""What holds for one backend: its own section over the top."""

from __future__ import annotations

from pathlib import Path

import pytest

from rollscope_exporters.settings import Settings, SettingsError, backend_config, load

ACCEPTS = frozenset({"runs", "metrics", "trajectories", "artifacts", "logs"})


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test has a folder of its own."""
    monkeypatch.chdir(tmp_path)


def loaded(text: str, **env: str) -> Settings:
    """Load a file of this content."""
    Path("rollscope.yaml").write_text(text)
    return load(Path("rollscope.yaml"), env)


def problems(text: str) -> list[str]:
    """Lines of what is wrong with it."""
    with pytest.raises(SettingsError) as caught:
        loaded(text)
    return str(caught.value).splitlines()


def test_a_section_is_laid_over_the_top() -> None:
    """Key by key; other backends keep the defaults."""
    settings = loaded("""
metrics: {every_n_steps: 2, rules: {"a*": max}}
trajectories: {sample_rate: 0.5, max_turns: 4}
backends:
  jsonl: {rotate_bytes: 5000000, metrics: {every_n_steps: 10}, trajectories: {max_turns: null, max_bytes: 64KiB}}
  console: {}
""")
    assert settings.metrics_of("jsonl").every_n_steps == 10
    assert settings.metrics_of("jsonl").rules == settings.metrics_of("console").rules == {"a*": "max"}
    assert settings.metrics_of("console").every_n_steps == settings.metrics_of("not configured").every_n_steps == 2
    assert (settings.trajectories_of("jsonl").sample_rate, settings.trajectories_of("jsonl").max_turns) == (0.5, None)
    assert int(settings.trajectories_of("jsonl").max_bytes) == 65536
    assert settings.trajectories_of("console").max_turns == 4
    assert backend_config("jsonl", settings.backends["jsonl"] if settings.backends else {}).model_dump()["rotate_bytes"] == 5000000


def test_signals_are_switched_by_backend() -> None:
    """Over the routes; a map of options switches on, and the frame of a run always comes."""
    settings = loaded("""
routes: {metrics: [console], logs: [console]}
backends:
  console: {metrics: false}
  jsonl: {metrics: {every_n_steps: 3}, artifacts: false, logs: true}
""")
    assert settings.signals("console", ACCEPTS) == {"runs", "trajectories", "artifacts", "logs"}
    assert settings.signals("jsonl", ACCEPTS) == {"runs", "metrics", "trajectories", "logs"}


def test_variables_reach_into_a_backend() -> None:
    """As into any section."""
    env = {"ROLLSCOPE__BACKENDS__JSONL__METRICS__EVERY_N_STEPS": "4", "ROLLSCOPE__BACKENDS__JSONL__ARTIFACTS": "false"}
    settings = loaded("backends: {jsonl: {}}", **env)
    assert settings.metrics_of("jsonl").every_n_steps == 4
    assert "artifacts" not in settings.signals("jsonl", ACCEPTS)


@pytest.mark.parametrize(
    ("text", "key", "said"),
    [
        ("backends: {jsonl: {metrcis: {}}}", "backends.jsonl.metrcis", "Did you mean 'metrics'?"),
        ("backends: {jsonl: {metrics: {every_n_step: 1}}}", "backends.jsonl.metrics.every_n_step", "Did you mean 'every_n_steps'?"),
        ("backends: {jsonl: {trajectories: {sample_rate: 2}}}", "backends.jsonl.trajectories.sample_rate", "2 cannot be used"),
        ("backends: {jsonl: {artifacts: perhaps}}", "backends.jsonl.artifacts", "'perhaps' cannot be used"),
        ("backends: {jsonl: {tables: {x: 1}}}", "backends.jsonl.tables", "cannot be used"),
        ("backends: {jsonl: {rotate_byte: 1}}", "backends.jsonl.rotate_byte", "Did you mean 'rotate_bytes'?"),
        ("metrics: {rules: {a: median}}", "metrics.rules.a", "'median' cannot be used"),
        ("trajectories: {keep: [errorrs]}", "trajectories.keep.0", "'errorrs' cannot be used"),
    ],
)
def test_what_is_wrong_is_named(text: str, key: str, said: str) -> None:
    """With its place and the nearest key."""
    (line,) = problems(text)
    assert line.startswith(f"rollscope.yaml:1: {key}: ")
    assert said in line


def test_token2text_is_no_matter_of_one_backend() -> None:
    """It happens before any of them."""
    (line,) = problems("backends: {jsonl: {trajectories: {token2text: false}}}")
    assert "unknown key" in line
