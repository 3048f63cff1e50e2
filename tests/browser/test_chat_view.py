"""What a researcher sees in MLflow's pages, through a real browser."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rollscope_exporters.backends.mlflow import MlflowBackend, MlflowConfig
from rollscope_exporters.records import Trajectory
from rollscope_exporters.testing import Sampler, deliver
from tests.fixtures.mlflow_server import MlflowServer
from tests.waiting import until

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

pytestmark = [
    pytest.mark.browser,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning"),  # MLflow's own
]
PROJECT = "chat-view"
WEATHER: list[dict[str, object]] = [
    {"role": "system", "content": "You book flights. Call one tool at a time."},
    {"role": "user", "content": "Is there a morning flight from New York to Seattle on May 20?"},
    {
        "role": "assistant",
        "content": "Let me look.",
        "tool_calls": [
            {
                "id": "call_1",
                "type": "function",
                "function": {"name": "search_direct_flight", "arguments": '{"origin": "JFK", "destination": "SEA", "date": "2024-05-20"}'},
            }
        ],
    },
    {
        "role": "tool",
        "tool_call_id": "call_1",
        "name": "search_direct_flight",
        "content": '[{"flight_number": "HAT069", "departure": "06:00", "economy": 121}]',
    },
    {"role": "assistant", "content": "Yes: **HAT069** leaves at 06:00 and costs 121 dollars in economy. 祝您旅途愉快 🙂"},
]
TOOLS: list[dict[str, object]] = [
    {
        "type": "function",
        "function": {"name": "search_direct_flight", "description": "Direct flights of a day.", "parameters": {"type": "object"}},
    }
]


@pytest.fixture(scope="module")
def shown(mlflow_server: MlflowServer, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Trajectory]:
    """Address of the experiment's traces, and a trajectory in it."""
    sampler = Sampler("chat", "grpo-qwen", PROJECT, now=time.time_ns() - 600 * 10**9, agent="airline")
    trajectory = sampler.trajectory(1, "flight-17", 3, messages=WEATHER, reward=0.85, tools=TOOLS)
    backend = MlflowBackend(MlflowConfig(tracking_uri=mlflow_server.uri), tmp_path_factory.mktemp("browser"), {})
    assert deliver(backend, [sampler.started(), trajectory, sampler.late(trajectory), sampler.metrics(1)]) == []
    experiment = backend._connection.experiment(PROJECT)
    return f"{mlflow_server.uri}/#/experiments/{experiment}/traces", trajectory


def test_the_chat_view_shows_roles_tool_calls_and_results(chromium: Chrome, shown: tuple[str, Trajectory]) -> None:
    """The root of a trajectory reads as a conversation: who spoke, which tool was called with what, what it answered, the rewards."""
    address, trajectory = shown
    open_page(chromium, f"{address}/tr-{trajectory.id}")
    text = wait_for_text(chromium, "invoke_agent airline", "Inputs", "Outputs", "HAT069")
    for word in (
        "System",
        "User",
        "Assistant",
        "You book flights",
        "search_direct_flight",
        "origin",
        "JFK",
        "Let me look.",
        "祝您旅途愉快 🙂",
    ):
        assert word in text, f"{word!r} is not on the page"
    assert "turn 0" in text
    assert "step-1/flight-17" in text
    click(chromium, "//button[contains(., 'Assess')]")
    rewards = wait_for_text(chromium, "Feedback", "reward", "judge")
    assert "0.85" in rewards
    keep_picture(chromium)


def test_a_turn_shows_the_history_it_saw(chromium: Chrome, shown: tuple[str, Trajectory]) -> None:
    """The second generation shows the messages before it, the tool's result among them, its tools, model and token count."""
    address, trajectory = shown
    open_page(chromium, f"{address}/tr-{trajectory.id}")
    wait_for_text(chromium, "chat qwen")
    click(chromium, "(//*[text()='chat qwen'])[2]")
    text = wait_for_text(chromium, "Tools", "Inputs", "Outputs", "HAT069", "212 tokens")
    assert "Is there a morning flight" in text


def test_the_list_shows_task_and_answer(chromium: Chrome, shown: tuple[str, Trajectory]) -> None:
    """The list of traces has the user's request, the last answer and the session."""
    open_page(chromium, shown[0])
    text = wait_for_text(chromium, "Is there a morning flight", "HAT069")
    assert "step-1/" in text


def open_page(chromium: Chrome, address: str) -> None:
    """Open `address` anew. What MLflow lays over its pages for newcomers hides nothing from a test: `click` gets through it."""
    chromium.get("about:blank")
    chromium.get(address)


def click(chromium: Chrome, path: str, seconds: float = 30) -> None:
    """Click on what lies at `path` as soon as it is there, also where something lies over it."""
    from selenium.common.exceptions import WebDriverException

    def clicked() -> bool:
        found = chromium.find_elements("xpath", path)
        try:
            if found:
                found[0].click()
            return bool(found)
        except WebDriverException:
            chromium.execute_script("arguments[0].click()", found[0])
            return True

    until(clicked, seconds, say=f"nothing to click at {path}")


def wait_for_text(chromium: Chrome, *words: str) -> str:
    """Text of the page as soon as it has all `words`."""
    from selenium.common.exceptions import StaleElementReferenceException

    def text() -> str:
        try:
            shown: str = chromium.find_element("tag name", "body").text
        except StaleElementReferenceException:
            return ""
        return shown if all(word in shown for word in words) else ""

    return until(text, say=f"the page never had all of {words}")


def keep_picture(chromium: Chrome) -> None:
    """Save what is seen to `ROLLSCOPE_SCREENSHOT`, for the documentation."""
    target = os.environ.get("ROLLSCOPE_SCREENSHOT")
    if target:
        for path in ("//button[normalize-space()='Got it']", "//button[@data-component-id='mlflow.assistant.chat_panel.close']"):
            with contextlib.suppress(AssertionError):  # not every version shows both
                click(chromium, path, seconds=5)
        time.sleep(1)
        assert chromium.save_screenshot(str(Path(target)))
