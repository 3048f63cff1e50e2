"""`init`: begin a run, or join the one that is there."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping

from .. import vocabulary as v
from ..errors import ConfigurationError
from ..identity import Identity, Run
from ..ids import EntropyIds
from ..ids import run_id as new_run_id
from ..importing import importing
from ..journal import JournalError
from ..launchers import Place, find_place, shared_run_id
from ..settings import Settings, disabled, load_settings
from . import attempts, ending, gate, session
from .arguments import check_types, count, mapping, words
from .checks import check_destinations
from .environment import DRIVER, TOKENIZER, attempt_of, export, run_of, without_run
from .keeper import keep
from .opening import check_folder, opener
from .recorder import Recorder

__all__ = ["init", "join"]

_lock = threading.RLock()
_COMPARED = ("project", "experiment", "run_id", "attempt", "endpoint", "storage", "directory", "role", "rank")
_asked: dict[str, object] = {}
"""What the running run was begun with; a second `init` is compared with it."""


def init(
    project: str | None = None,
    experiment: str | None = None,
    config: object = None,
    tags: str | Iterable[str] = (),
    notes: str = "",
    backends: str | Iterable[str] | None = None,
    *,
    endpoint: str | None = None,
    storage: str | os.PathLike[str] | None = None,
    directory: str | os.PathLike[str] | None = None,
    tokenizer: object = None,
    run_id: str | None = None,
    attempt: int | None = None,
    resume: bool | None = None,
    role: str | None = None,
    rank: int | None = None,
    system: str | None = None,
    algorithm: str | None = None,
    dataset: str | None = None,
    dataset_digest: str | None = None,
    capture: bool | str | Mapping[str, bool] | Iterable[str] | None = None,
    circumstances: bool = True,
    journal_limit: str | int | None = None,
    redact: Mapping[str, object] | None = None,
    set_global: bool = False,
) -> Recorder | None:
    """Begin a run, or join the one that the environment carries. Returns None when everything is switched off.

    The process that begins the run is its driver: it records config, tags and circumstances, and how the run ended. Processes that inherit
    its environment are workers of the run, with or without a call of `init`; so are the ranks above 0 of a parallel job.

    project, experiment: where backends show the run and under which name. config: any nested map, dataclass or argparse namespace,
    recorded as JSON with secrets masked.
    backends: what the run asks the bridge for. endpoint: OTLP address, `http://host:4318` or `grpc://host:4317`. storage: folder of the
    embedded bridge. directory: the node folder (`ROLLSCOPE_DIR`). tokenizer: object, path or name for token2text. run_id, attempt, resume:
    continue a run; a known `run_id` gets the next attempt unless `resume=False`. role, rank: of this process. dataset, dataset_digest: what
    is trained on. capture: kinds of content to record (`settings.Capture`). circumstances: record what it takes to repeat the run.
    journal_limit: bytes of disk, such as `4GiB`. redact: what the shipper takes out before anything leaves the node, as
    `{"keys": [names], "patterns": [regular expressions], "function": "module:function"}`. set_global: become OpenTelemetry's global
    provider.

    Called again it returns the running recorder. Raises `ConfigurationError` for what cannot work; nothing raises after it.
    """
    if disabled():
        session.use(None)
        return None
    given = dict(locals())
    check_types(given)
    asked = {name: os.fspath(value) if isinstance(value := given[name], os.PathLike) else value for name in _COMPARED}
    settled = mapping("config", config)
    rank, attempt = count("rank", rank), count("attempt", attempt)
    wanted, labels = words("backends", backends), words("tags", tags)
    with _lock:
        running, _ = session.snapshot()
        if running is not None:
            _again(running, asked)
            return running
        env: Mapping[str, str] = os.environ
        settings = load_settings(
            directory=directory, storage=storage, endpoint=endpoint, capture=capture, journal_limit=journal_limit, redact=redact
        )
        place = find_place(env, role=role, rank=rank)
        joins = env.get(DRIVER) and run_of(env)
        if joins and _is_another(joins, given, may_begin=place.rank in (None, 0)):
            joins, env = None, without_run(env)
        driver = not joins and place.rank in (None, 0)
        run = joins or _new_run(env, settings, place, project, experiment, run_id, attempt, resume, driver=driver)
        check_destinations(settings, wanted if driver else [])
        check_folder(settings.directory)
        recorder = _recorder(run, place, settings, system, algorithm)
        _begin(recorder, tokenizer, driver=driver)
        _asked.clear()
        _asked.update(asked)
        if driver:
            with importing:
                from .announcing import announce  # the driver's alone, and it brings subprocess

            announce(
                recorder, config=settled, tags=labels, notes=notes, backends=wanted, dataset=dataset, digest=dataset_digest,
                circumstances=circumstances,
            )  # fmt: skip
    if set_global:
        with importing:
            from .foreign import install_global

        install_global()
    return recorder


def join() -> Recorder | None:
    """Return a recorder for the run that the environment carries, None without one. Raises `ConfigurationError`."""
    if disabled() or (run := run_of(os.environ)) is None:
        return None
    settings = load_settings()
    recorder = _recorder(run, find_place(os.environ), settings, None, None)
    recorder.tokenizer = os.environ.get(TOKENIZER) or None
    ending.install_hooks()
    return recorder


def _again(running: Recorder, asked: Mapping[str, object]) -> None:
    run = running.identity.run
    known = {**_asked, "project": run.project, "experiment": run.name, "run_id": run.id}
    other = [name for name, value in asked.items() if value is not None and value != known.get(name)]
    if other:
        gate.notice(
            "init_again",
            f"init was called again with another {', '.join(other)}; the run {run.name!r} ({run.id}) goes on, finish() would end it",
        )


def _is_another(carried: Run, given: Mapping[str, object], *, may_begin: bool) -> bool:
    """Whether `init` asks for another run than the environment carries, as trials of a sweep do that a recorded program starts."""
    asked = {"run_id": carried.id, "project": carried.project, "experiment": carried.name}
    other = [name for name, value in asked.items() if given[name] and given[name] != value]
    if other:
        does = "it begins a run of its own" if may_begin else "a process of this rank begins none, so it joins that one"
        gate.notice(
            "another_run",
            f"init asks for another {', '.join(other)} than the run {carried.name!r} ({carried.id}) that the environment carries: {does}",
        )
    return bool(other) and may_begin


def _new_run(
    env: Mapping[str, str],
    settings: Settings,
    place: Place,
    project: str | None,
    experiment: str | None,
    run_id: str | None,
    attempt: int | None,
    resume: bool | None,
    *,
    driver: bool,
) -> Run:
    project = project or env.get("ROLLSCOPE_PROJECT") or "default"
    known = run_id or env.get("ROLLSCOPE_RUN_ID") or None
    if resume and known is None:
        raise ConfigurationError("resume needs a run", resume, "give run_id, or set ROLLSCOPE_RUN_ID")
    name = experiment or env.get("ROLLSCOPE_RUN_NAME") or ""
    identity = known or shared_run_id(place, project, name, env)
    if identity is None and not driver:
        cure = "let rank 0 begin the run and hand on its environment (rollscope.environment()), or export ROLLSCOPE_RUN_ID everywhere"
        raise ConfigurationError("a process of this rank has no run to join", place.rank, cure)
    identity = attempts.check_run_id(identity or new_run_id())
    given = attempt if attempt is not None else attempt_of(env)
    if given is None:
        given = place.restart
        before = attempts.known_attempt(settings.directory, identity) if known and driver and resume is not False else None
        if before is not None or resume:
            given = max(given, (before or 0) + 1)
    return Run(identity, name or identity, project, given)


def _recorder(run: Run, place: Place, settings: Settings, system: str | None, algorithm: str | None) -> Recorder:
    ids = EntropyIds()
    extra = {**settings.resource, **{key: value for key, value in ((v.SYSTEM, system), (v.ALGORITHM, algorithm)) if value}}
    identity = Identity(run, place, ids.producer_id(), service_name=settings.service_name, extra=extra)
    recorder = Recorder(identity, settings, ids, opener(settings))
    keep(recorder)
    ending.close_at_exit_of_child(recorder)
    return recorder


def _begin(recorder: Recorder, tokenizer: object, *, driver: bool) -> None:
    """Make `recorder` the one of this process and of those it starts. Raises `ConfigurationError`."""
    directory = recorder.settings.directory
    recorder.driver = driver
    recorder.tokenizer = os.environ.get(TOKENIZER) or None if tokenizer is None else _register(tokenizer, recorder.settings)
    try:
        recorder.open()
    except JournalError as error:
        raise ConfigurationError("the journal cannot be opened", str(directory), str(error)) from error
    if recorder.driver:
        attempts.remember_attempt(directory, recorder.identity.run.id, recorder.identity.run.attempt)
    export(recorder)
    session.use(recorder)
    ending.install_hooks()


def _register(tokenizer: object, settings: Settings) -> str:
    with importing:
        from ..tokens import TokenizerError, register

    try:
        return register(tokenizer, settings.directory)
    except (TokenizerError, ImportError, OSError) as error:
        shown = tokenizer if isinstance(tokenizer, str | os.PathLike) else type(tokenizer).__name__
        cure = f"{error} (pip install 'rollscope[all]' brings tokenizers and tiktoken), or leave the tokenizer out and record ids alone"
        raise ConfigurationError("the tokenizer cannot be used", shown, cure) from error


def _after_fork() -> None:
    # Whoever held the lock is not in the child.
    global _lock
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_after_fork)
