"""How the workers of pytest-xdist share the tests: whole modules, slow ones first, modules that share a costly server together."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.lifetime import end_shared

_SLOW = ("integration", "reliability", "browser")
"""Marks of modules that begin first: one of them at the end would leave the other workers idle."""
COSTLY = {"travelled": "the demo", "company_mlflow": "the company", "postgres": "the company", "mlflow_server": "MLflow"}
"""Fixtures of a session that take long, and a name for what they stand for: each worker that asks for one makes its own, so the modules
that name it go to one worker."""
_LAST = pytest.StashKey[dict[str, pytest.Item]]()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with the modules that share a fixture, then come the slow ones."""
    if hasattr(config, "workerinput"):
        slow = {item.path for item in items if any(item.get_closest_marker(mark) for mark in _SLOW)}
        items.sort(key=lambda item: (not shared_by(item.path), item.path not in slow))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Note the last test of each thing that is shared."""
    session.stash[_LAST] = {shared: item for item in session.items if (shared := shared_by(item.path))}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """After the last test of something that is shared, end it."""
    try:
        yield
    finally:
        shared = shared_by(item.path)
        if shared and item.session.stash[_LAST][shared] is item:
            end_shared(shared)


@cache
def shared_by(module: Path) -> str:
    """Return what a module shares with others, by the costly fixture that it names as an argument or as text; empty if it names none."""
    text = module.read_text(encoding="utf-8")
    return next((shared for fixture, shared in COSTLY.items() if re.search(rf'\b{fixture}(: |")', text)), "")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object | None:
    """Deal modules in the order in which they were collected, where `--dist loadscope` is asked for."""
    if config.getvalue("dist") != "loadscope":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class Modules(LoadScopeScheduling):  # type: ignore[misc, unused-ignore]
        def _split_scope(self, nodeid: str) -> str:
            path = nodeid.partition("::")[0]
            return shared_by(config.rootpath / path) or path

    config.option.loadscopereorder = False
    return Modules(config, log)
