"""How the workers of pytest-xdist share the tests: whole modules, slow ones first, modules that share a costly server together."""

from __future__ import annotations

from typing import Any

import pytest

_SLOW = ("integration", "reliability", "browser")
"""Marks of modules that begin first: one of them at the end would leave the other workers idle."""
_TOGETHER = {
    "tests/collector/test_dashboards.py": "the demo that travelled",
    "tests/collector/test_end_to_end.py": "the demo that travelled",
    "tests/destinations/test_demo.py": "the demo that travelled",
    "tests/destinations/test_destinations.py": "the demo that travelled",
    "tests/integration/test_mlflow_company.py": "a company's MLflow",
    "tests/integration/test_mlflow_company_run.py": "a company's MLflow",
    "tests/integration/test_mlflow_databases.py": "a company's MLflow",
}
"""Modules on one worker: a session's fixture is made by each worker that asks for it."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with the modules that have slow tests."""
    if hasattr(config, "workerinput"):
        slow = {item.path for item in items if any(item.get_closest_marker(mark) for mark in _SLOW)}
        items.sort(key=lambda item: item.path not in slow)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object | None:
    """Deal modules in the order in which they were collected, where `--dist loadscope` is asked for."""
    if config.getvalue("dist") != "loadscope":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class Modules(LoadScopeScheduling):  # type: ignore[misc, unused-ignore]
        def _split_scope(self, nodeid: str) -> str:
            path = nodeid.partition("::")[0]
            return _TOGETHER.get(path, path)

    config.option.loadscopereorder = False
    return Modules(config, log)
