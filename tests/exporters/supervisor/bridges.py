"""A bridge as a process, and a client that does not give up."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import urllib3

from rollscope_exporters.supervisor import read_bridge
from tests.waiting import until

COUNTING = Path(__file__).parents[1] / "counting"


class RunningBridge:
    """`rollscope bridge` on a storage folder; `start` again after a kill."""

    def __init__(self, storage: Path, *arguments: str, **env: str) -> None:
        self.storage, self.arguments = storage, arguments
        self.env = {**os.environ, "PYTHONPATH": str(COUNTING), "ROLLSCOPE__BACKENDS__COUNTING": "{}", **env}
        self.env = {name: value for name, value in self.env.items() if value}
        self.process: subprocess.Popen[bytes] | None = None
        self.pool = urllib3.PoolManager(retries=False, timeout=60)

    def start(self) -> RunningBridge:
        """Start, and wait until it listens."""
        listen = ("--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0") if "--embedded" not in self.arguments else ()
        command = [sys.executable, "-m", "rollscope_exporters.cli", "bridge", "--storage", str(self.storage), *listen, *self.arguments]
        self.process = subprocess.Popen(command, env=self.env, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.storage.parent)
        until(lambda: self.announced, say=self.log)
        return self

    @property
    def announced(self) -> dict[str, Any] | None:
        """What it announced itself as, None while another process had the storage."""
        found = read_bridge(self.storage)
        return found if found and self.process and found["pid"] == self.process.pid else None

    @property
    def url(self) -> str:
        """Base URL."""
        found = read_bridge(self.storage)
        return f"http://{found['http']}" if found else "http://127.0.0.1:1"

    def get(self, path: str) -> Any:
        """Return a JSON page."""
        return self.pool.request("GET", self.url + path).json()

    def child(self, name: str) -> dict[str, Any]:
        """Return what the status says of a child."""
        return next((child for child in self.get("/v1/status")["children"] if child["name"] == name), {})

    def log(self) -> str:
        """Return the end of its log."""
        path = self.storage / "bridge.log"
        return path.read_text()[-3000:] if path.exists() else ""

    def send(self, body: bytes, path: str = "/v1/logs") -> bool:
        """Send once; say whether it was acknowledged."""
        try:
            answer = self.pool.request("POST", self.url + path, body=body, headers={"content-type": "application/json"})
        except urllib3.exceptions.HTTPError:
            return False
        return answer.status == 200

    def counted(self) -> list[str]:
        """Return what the counting backend holds of log lines, without their runs."""
        file = self.storage / "counted.txt"
        lines = file.read_text().splitlines() if file.exists() else []
        return [line.partition(" ")[2] for line in lines if " n" in line]

    def kill(self) -> None:
        """Kill it, and wait until it is gone."""
        if self.process:
            with self.process as process:
                process.send_signal(signal.SIGKILL)

    def end(self) -> int:
        """End it as a service manager does; return the exit code."""
        assert self.process
        with self.process as process:
            process.terminate()
            return process.wait(60)


PRODUCER = "0123456789abcdef"
Attribute = dict[str, object]


def _text(key: str, value: str) -> Attribute:
    return {"key": key, "value": {"stringValue": value}}


def _request(records: list[dict[str, object]], **resource: str) -> bytes:
    attributes = [_text(key.replace("_", "."), value) for key, value in resource.items()]
    return json.dumps({"resourceLogs": [{"resource": {"attributes": attributes}, "scopeLogs": [{"logRecords": records}]}]}).encode()


def _record(sequence: int, name: str, body: str, *attributes: Attribute) -> dict[str, object]:
    numbered = {"key": "rl.producer.sequence", "value": {"intValue": str(sequence)}}
    when = str(1_700_000_000_000_000_000 + sequence)
    return {"timeUnixNano": when, "eventName": name, "body": {"stringValue": body}, "attributes": [numbered, *attributes]}


def log_lines(first: int, count: int, backends: list[str] | None = None) -> bytes:
    """Return log lines `n<number>` as a rollscope process numbers them; the first request begins the run.

    `backends` is what the run asks for, None when it says nothing.
    """
    records = [_record(n + 2, "rl.log", f"n{n}") for n in range(first, first + count)]
    if first == 0:
        asked = [{"key": "rl.run.backends", "value": {"arrayValue": {"values": [{"stringValue": name} for name in backends or ()]}}}]
        records = [_record(1, "rl.run.started", "", *(asked if backends is not None else ())), *records]
    return _request(records, rl_run_id="run1", rl_run_name="test", rl_producer_id=PRODUCER)


def ending(sequence: int) -> bytes:
    """Return the end of the run, and the word of its shipper that `sequence` was the last record."""
    said = [
        {"key": "rl.producer.last_sequence", "value": {"intValue": str(sequence)}},
        {"key": "rl.producer.final", "value": {"boolValue": True}},
    ]
    heartbeat = {"timeUnixNano": str(time.time_ns()), "eventName": "rl.producer.heartbeat", "attributes": said}
    records = [_record(sequence, "rl.run.finished", ""), heartbeat]
    return _request(records, rl_run_id="run1", rl_run_name="test", rl_producer_id=PRODUCER)


def foreign_lines(count: int) -> bytes:
    """Return log lines `n<number>` of a program without rollscope."""
    records = [{"timeUnixNano": str(1_700_000_000_000_000_000 + n), "body": {"stringValue": f"n{n}"}} for n in range(count)]
    return _request(list(records), service_name="plain")
