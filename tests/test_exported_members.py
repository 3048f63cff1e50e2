"""The public list is exactly what is public."""

import subprocess
import sys
import types

import rollscope


def test_the_list_is_sorted_and_complete():
    """Every public name of the package is listed, every listed name is there; modules are not names of the list."""
    public = {name for name, value in vars(rollscope).items() if not name.startswith("_") and not isinstance(value, types.ModuleType)}
    assert sorted(rollscope.__all__) == rollscope.__all__
    assert set(rollscope.__all__) - {"__version__"} == public


def test_functions_are_not_hidden_by_the_modules_of_their_name():
    """`rollscope.step` is the function, whatever else is imported."""
    import rollscope.carrier
    import rollscope.step
    import rollscope.traced
    import rollscope.trajectory

    for name in ("artifact", "carrier", "reward", "step", "table", "traced", "trajectory"):
        assert isinstance(getattr(rollscope, name), types.FunctionType), name


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
