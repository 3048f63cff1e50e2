"""The layers, and what a wrong one gets."""

from __future__ import annotations

from pathlib import Path

import pytest

from rollscope_exporters.settings import Settings, SettingsError, load

EXAMPLE = """\
storage: ./here
listen: {grpc: 127.0.0.1:5317, http: 127.0.0.1:5318}
backends:
  console: {}
  jsonl:
  mlflow: {tracking_uri: sqlite:///rollscope/mlflow.db, trajectories_per_step: 256}
routes:
  trajectories: [mlflow, jsonl]
metrics: {every_n_steps: 1}
trajectories: {sample_rate: 1.0, max_turns: null, max_bytes: 1MiB, token2text: true}
redact: {keys: [], patterns: [], function: null}
limits: {inbox: 20GiB, journal: 4GiB}
"""


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(text: str) -> Path:
    """Write `rollscope.yaml` in the current folder."""
    path = Path("rollscope.yaml")
    path.write_text(text, encoding="utf-8")
    return path


def problems(text: str, env: dict[str, str] | None = None) -> list[str]:
    """Return the lines of the error that `text` gets."""
    with pytest.raises(SettingsError) as caught:
        load(write(text), env or {})
    return str(caught.value).splitlines()


def test_nothing_is_needed() -> None:
    """Without a file and environment everything has a default, and listeners are on loopback."""
    settings = load(None, {})
    assert settings == Settings()
    assert settings.listen.grpc == "127.0.0.1:5317"
    assert settings.backends is None


def test_the_example_of_the_design_loads() -> None:
    """Sizes, nulls and empty sections are read as people write them."""
    settings = load(write(EXAMPLE), {})
    assert settings.limits.inbox == 20 << 30
    assert settings.trajectories.max_bytes == 1 << 20
    assert settings.backends is not None
    assert settings.backends["jsonl"] == {}
    assert settings.storage == Path("here")


def test_the_file_in_the_current_folder_is_found() -> None:
    """`./rollscope.yaml` is read without being named."""
    write("metrics: {every_n_steps: 7}")
    assert load(None, {}).metrics.every_n_steps == 7


def test_a_file_named_by_the_environment_is_read(tmp_path: Path) -> None:
    """`ROLLSCOPE_CONFIG` names the file."""
    other = tmp_path / "other.yaml"
    other.write_text("workers: {deadline: 2m}")
    assert load(None, {"ROLLSCOPE_CONFIG": str(other)}).workers.deadline == 120.0


def test_the_environment_lies_over_the_file_and_the_command_line_over_both() -> None:
    """Later layers win key by key."""
    path = write("storage: file\nmetrics: {every_n_steps: 2}\nlimits: {inbox: 1GiB, journal: 1GiB}")
    env = {"ROLLSCOPE__STORAGE": "env", "ROLLSCOPE__LIMITS__INBOX": "2GiB"}
    settings = load(path, env, {"storage": ("--storage", "line")})
    assert settings.storage == Path("line")
    assert settings.limits.inbox == 2 << 30
    assert settings.limits.journal == 1 << 30
    assert settings.metrics.every_n_steps == 2


def test_a_backend_is_configured_from_the_environment_alone() -> None:
    """`ROLLSCOPE__BACKENDS__MLFLOW__TRACKING_URI` reaches the backend's section."""
    settings = load(None, {"ROLLSCOPE__BACKENDS__MLFLOW__TRACKING_URI": "http://host:5000"})
    assert settings.backends == {"mlflow": {"tracking_uri": "http://host:5000"}}


def test_lists_in_the_environment_are_json_and_digits_stay_text() -> None:
    """A token of digits is no number."""
    env = {"ROLLSCOPE__REDACT__KEYS": '["a*", "b"]', "ROLLSCOPE__LISTEN__TOKEN": "0123"}
    settings = load(None, env)
    assert settings.redact.keys == ["a*", "b"]
    assert settings.listen.token is not None
    assert settings.listen.token.get_secret_value() == "0123"


def test_the_runs_own_storage_variable_is_understood() -> None:
    """`ROLLSCOPE_STORAGE`, which a run hands to its shipper, sets the storage."""
    assert load(None, {"ROLLSCOPE_STORAGE": "/data/x"}).storage == Path("/data/x")


def test_an_unknown_key_names_its_line_and_the_nearest_known_one() -> None:
    """A misspelt key is found where it stands."""
    (line,) = problems("storage: x\nlimits:\n  inbx: 1GiB\n")
    assert line.startswith("rollscope.yaml:3: limits.inbx: unknown key. Did you mean 'inbox'?")


def test_an_unknown_section_names_the_nearest_known_one() -> None:
    """The top level is checked too."""
    (line,) = problems("trajectores: {}\n")
    assert "rollscope.yaml:1: trajectores: unknown key. Did you mean 'trajectories'?" in line


def test_an_unknown_variable_is_named() -> None:
    """A misspelt variable is no silent default."""
    (line,) = problems("", {"ROLLSCOPE__LIMITS__INBX": "1GiB"})
    assert line.startswith("ROLLSCOPE__LIMITS__INBX: limits.inbx: unknown key")


def test_an_unknown_key_of_a_backend_names_the_nearest_known_one() -> None:
    """The backend's own model checks its section, and the line is still known."""
    (line,) = problems("backends:\n  mlflow:\n    traking_uri: http://host\n")
    assert line.startswith("rollscope.yaml:3: backends.mlflow.traking_uri: unknown key. Did you mean 'tracking_uri'?")


def test_an_unknown_backend_names_the_nearest_known_one() -> None:
    """Misspelt names of backends too."""
    (line,) = problems("backends:\n  consle: {}\n")
    assert "rollscope.yaml:2: backends.consle:" in line
    assert "'console'" in line


def test_a_process_checks_only_what_it_uses() -> None:
    """Of the backends only those that are asked for are checked, and imported; a mistake in any other is found where all are."""
    path = write("backends: {jsonl: {}, mlfow: {}}\n")
    assert set(load(path, {}, backends=["jsonl"]).backends or {}) == {"jsonl", "mlfow"}
    with pytest.raises(SettingsError, match="mlfow"):
        load(path, {})


def test_every_problem_is_listed_at_once() -> None:
    """Whoever repairs a configuration does it in one go."""
    lines = problems("limits: {inbox: much}\nmetrics: {every_n_steps: 0}\nbackends: {consle: {}}\nlisten: {grpc: nowhere}\n")
    assert [line.split(": ")[1] for line in lines] == ["listen.grpc", "metrics.every_n_steps", "limits.inbox", "backends.consle"]
    assert "'much'" in lines[2]


def test_a_route_to_nowhere_is_named() -> None:
    """Routes name configured backends and known signals only."""
    (line,) = problems("backends: {console: {}}\nroutes:\n  metrics: [consol]\n")
    assert line.startswith("rollscope.yaml:3: routes.metrics: 'consol' is not among the backends. Did you mean 'console'?")
    (line,) = problems("routes: {trajectory: [console]}")
    assert "'trajectories'" in line


def test_broken_yaml_names_the_line() -> None:
    """So does a key that stands twice."""
    (line,) = problems("storage: [x\nlisten: {}\n")
    assert line.startswith("rollscope.yaml:2: is not valid YAML")
    (line,) = problems("storage: x\nlimits: {}\nstorage: y\n")
    assert line == "rollscope.yaml:3: storage: stands twice, first on line 1. Keep one of them."
    (line,) = problems("- storage")
    assert "holds no map" in line


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("storage: x\nmetrics: {every_n_steps: 2026-13-45}", "rollscope.yaml:2: is not valid YAML: month must be in 1..12"),
        ("metrics: {every_n_steps: " + "9" * 5000 + "}", "rollscope.yaml:1: is not valid YAML: Exceeds the limit"),
        ("storage: x\nlimits: {inbox: \a}", "rollscope.yaml:2: holds the character '\\x07', which YAML does not allow"),
        ("backends: &all\n  jsonl: *all", "rollscope.yaml: is nested too deeply, or holds an alias of what it stands in"),
        ("storage: " + "[" * 5000 + "]" * 5000, "rollscope.yaml: is nested too deeply, or holds an alias of what it stands in"),
    ],
    ids=["no date", "endless number", "control character", "alias of itself", "deep"],
)
def test_what_the_parser_itself_stumbles_over_is_a_readable_error(text: str, said: str) -> None:
    """Not only what it calls an error of syntax."""
    (line,) = problems(text)
    assert line.startswith(said)


def test_a_missing_file_is_named() -> None:
    """A file that was named must be there."""
    with pytest.raises(SettingsError, match=r"nowhere\.yaml: cannot be read: No such file"):
        load(Path("nowhere.yaml"), {})


def test_routes_decide_which_signals_a_backend_gets() -> None:
    """A signal that is not routed goes everywhere; the frame of a run always."""
    settings = load(write("backends: {console: {}, jsonl: {}}\nroutes: {trajectories: [jsonl], runs: []}"), {})
    accepts = frozenset({"runs", "metrics", "trajectories"})
    assert settings.signals("console", accepts) == {"runs", "metrics"}
    assert settings.signals("jsonl", accepts) == accepts
