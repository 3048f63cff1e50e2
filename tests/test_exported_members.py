"""The public list is exactly what is public."""

import inspect
import pickle
import pkgutil
import subprocess
import sys
import types
import typing
from importlib import import_module
from unittest import mock

import pytest

import rollscope
import rollscope.recorder

HOMONYMS = [module.name for module in pkgutil.iter_modules(rollscope.__path__) if module.name in rollscope.__all__]
"""Modules that have the name of a public function."""


def test_the_list_is_sorted_and_complete():
    """Every public name of the package is listed, every listed name is there; modules are not names of the list."""
    public = {name for name in dir(rollscope) if not name.startswith("_") and not isinstance(getattr(rollscope, name), types.ModuleType)}
    assert sorted(rollscope.__all__) == rollscope.__all__
    assert set(rollscope.__all__) - {"__version__"} == public


def run(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("name", HOMONYMS)
def test_functions_are_not_hidden_by_the_modules_of_their_name(name):
    """`rollscope.step` is the function, whichever module is imported first."""
    assert run(f"import rollscope.{name}; print(type(rollscope.{name}).__name__)") == "function\n"


def test_functions_are_not_hidden_once_all_modules_are_imported():
    """In this process too, and in the recorder's own package."""
    assert {"artifact", "carrier", "image", "reward", "step", "table", "traced", "trajectory"} <= set(HOMONYMS)
    for module in pkgutil.iter_modules(rollscope.__path__, "rollscope."):
        if module.name != "rollscope.redact":  # needs protobuf, which is the shipper's
            import_module(module.name)
    import_module("rollscope.recorder.environment")
    for name in HOMONYMS:
        assert isinstance(getattr(rollscope, name), types.FunctionType), name
    assert isinstance(rollscope.recorder.environment, types.FunctionType)


@pytest.mark.parametrize("package", [rollscope, rollscope.recorder])
def test_init_is_there_as_any_other_name(package):
    """It is imported when it is first asked for: nobody who asks can tell."""
    name = package.__name__
    assert run(f"import {name}; print('init' in vars({name}), 'init' in dir({name}))") == "False True\n"
    assert run(f"from {name} import *; import {name}; print(init is {name}.init)") == "True\n"
    assert run(f"from {package.__name__} import init; print(init.__module__, init.__name__)") == "rollscope.recorder.starting init\n"
    assert pickle.loads(pickle.dumps(package.init)) is package.init
    original = package.init
    with mock.patch.object(package, "init") as other:
        assert package.init is other
    assert package.init is original
    assert "project" in inspect.signature(package.init).parameters


@pytest.mark.parametrize("package", [rollscope, rollscope.recorder])
def test_a_name_that_is_not_there_is_an_attribute_error(package):
    """An unknown name raises Python's own error, in its words."""
    assert not hasattr(package, "inti")
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'inti'"):
        package.inti  # noqa: B018


def test_init_is_one_function_for_threads_that_ask_for_it_at_once():
    """Whoever comes first imports it, the others wait."""
    program = """
import sys, threading, rollscope
sys.setswitchinterval(1e-6)
found, together = [], threading.Barrier(8)
def ask():
    together.wait()
    found.append(rollscope.init)
threads = [threading.Thread(target=ask) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(found), len(set(found)))
"""
    assert run(program) == "8 1\n"


def test_types_of_public_functions_can_be_resolved():
    """As tools do that read annotations while a program runs, before a run has begun; methods may name what only a run imports."""
    program = """
import inspect, typing, rollscope
for name in rollscope.__all__:
    value = getattr(rollscope, name)
    if inspect.isfunction(value):
        typing.get_type_hints(value)
"""
    run(program)
    assert typing.get_type_hints(rollscope.init)["return"] == rollscope.Recorder | None


def test_all_is_documented():
    """Every listed name but constants and type aliases has a docstring."""
    for name in rollscope.__all__:
        value = getattr(rollscope, name)
        if isinstance(value, (type, types.FunctionType)):
            assert value.__doc__, name


def test_importing_it_imports_nothing_heavy():
    """No tracker, no grpc, no torch, no numpy, no SDK, no asyncio, nothing that starts processes or opens connections."""
    program = "import sys, rollscope; print(*sorted(sys.modules))"
    loaded = set(subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.split())
    heavy = {
        "mlflow",
        "wandb",
        "swanlab",
        "grpc",
        "torch",
        "numpy",
        "pandas",
        "pydantic",
        "opentelemetry.sdk",
        "urllib3",
        "asyncio",
        "socket",
        "rollscope_exporters",
    }
    assert loaded & heavy == set()
