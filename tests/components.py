"""Parts that tests talk to and that pip does not bring: absent on a developer's machine is a skip, in CI a failure."""

from __future__ import annotations

import os
import shutil
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest


def missing(what: str, cure: str) -> None:
    """Skip, or fail in CI, because `what` is not here; `cure` says how to get it."""
    message = f"{what} is not here: {cure}"
    if os.environ.get("CI", "").lower() in {"1", "true", "yes"}:
        pytest.fail(message)
    pytest.skip(message)


def program(name: str, cure: str) -> str:
    """Path of the program `name`."""
    path = shutil.which(name)
    if path is None:
        missing(name, cure)
    return str(path)


def module(name: str, cure: str) -> None:
    """Make sure that the module `name` can be imported."""
    try:
        found = find_spec(name) is not None
    except ModuleNotFoundError:
        found = False
    if not found:
        missing(f"module {name}", cure)


@cache
def collector(what: str) -> Path:
    """Path of a binary that `tools.collector` builds: `gateway`, `relay` or `jaeger`."""
    from tools import collector as builds

    try:
        return builds.ensure(what)
    except builds.BuildError as error:
        missing(f"the {what} binary", str(error))
        raise


@cache
def checker(what: str) -> Path:
    """Path of a program that `tools.deployment_checkers` builds: `kustomize` or `compose`."""
    from tools import collector, deployment_checkers

    try:
        return deployment_checkers.ensure(what)
    except collector.BuildError as error:
        missing(what, str(error))
        raise


@cache
def kafka() -> Path:
    """Folder with the jars of Apache Kafka, brought by `tools.kafka`."""
    from tools import kafka as jars

    try:
        jars.java()
        return jars.ensure()
    except jars.FetchError as error:
        missing("Apache Kafka", str(error))
        raise
