"""Tool calls."""

import pytest

import rollscope as rs
from rollscope import vocabulary as v


def test_arguments_and_result(rollscope_memory):
    """Maps become JSON, text stays text, the call's id and name are there."""
    with rs.trajectory() as traj:
        with traj.tool("f", arguments={"a": 1}, call_id="c1", attributes={"x": 1}) as tool:
            tool.result({"ok": [1, 2]})
        with traj.tool("g", arguments='{"a": 1}') as tool:
            tool.result("42")
    first, second = rollscope_memory.span("execute_tool f").attributes, rollscope_memory.span("execute_tool g").attributes
    assert (first[v.GEN_AI_TOOL_CALL_ARGUMENTS], first[v.GEN_AI_TOOL_CALL_RESULT]) == ('{"a":1}', '{"ok":[1,2]}')
    assert (first[v.GEN_AI_TOOL_CALL_ID], first[v.GEN_AI_TOOL_NAME], first[v.GEN_AI_TOOL_TYPE], first["x"]) == ("c1", "f", "function", 1)
    assert (second[v.GEN_AI_TOOL_CALL_ARGUMENTS], second[v.GEN_AI_TOOL_CALL_RESULT]) == ('{"a": 1}', "42")


def test_an_exception_is_the_tools_error(rollscope_memory):
    """The call failed; the trajectory around it goes on and is completed."""
    with rs.trajectory() as traj, pytest.raises(TimeoutError), traj.tool("f"):
        raise TimeoutError("30 s")
    tool = rollscope_memory.span("execute_tool f")
    assert (tool.status, tool.message, tool.attributes[v.ERROR_TYPE]) == (2, "TimeoutError: 30 s", "TimeoutError")
    assert rollscope_memory.span("invoke_agent").attributes[v.TRAJECTORY_OUTCOME] == "completed"


@pytest.mark.parametrize(
    ("error", "kind", "message"), [("unknown user", "tool_error", "unknown user"), (KeyError("mia"), "KeyError", "KeyError: 'mia'")]
)
def test_an_error_that_was_handled(rollscope_memory, error, kind, message):
    """A tool that returned its failure says so."""
    with rs.trajectory() as traj, traj.tool("f") as tool:
        tool.error(error)
        tool.result("Error: unknown user")
    span = rollscope_memory.span("execute_tool f")
    assert (span.status, span.attributes[v.ERROR_TYPE], span.message) == (2, kind, message)
