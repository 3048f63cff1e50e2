"""A host on this machine: a network namespace with a name, an address and a list of name servers of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests import components
from tests.waiting import ends_of_logs, until

INSIDE = 'hostname "$0" && while [ "$1" != -- ]; do mount --bind "$2" "$1" && shift 2; done && shift && exec "$@"'
"""Give the host its name and its own files in place of the machine's, then run the command; `ip netns exec` has made mounts its own."""


@dataclass
class Host:
    """One of them."""

    name: str
    folder: Path
    binds: Mapping[str, Path] = field(default_factory=dict)
    """Files of the machine, such as /etc/resolv.conf → what the host has instead."""
    namespace: str = ""
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.namespace = f"rollscope-{os.getpid()}-{self.name}"
        self.folder.mkdir()

    def wrap(self) -> tuple[str, ...]:
        """Words before a command that make it run here."""
        binds = (word for pair in self.binds.items() for word in map(str, pair))
        return ("ip", "netns", "exec", self.namespace, "unshare", "--uts", "sh", "-c", INSIDE, self.name, *binds, "--")

    def serve(self, command: Sequence[str], environment: Mapping[str, str], ready: str) -> subprocess.Popen[bytes]:
        """Start a service here and wait until its log says `ready`."""
        log = self.folder / f"service-{len(self.processes)}.log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                [*self.wrap(), *command], env={**os.environ, **environment}, stdout=out, stderr=out, start_new_session=True
            )
        self.processes.append(process)
        until(
            lambda: ready in log.read_text(errors="replace") or process.poll() is not None,
            say=lambda: f"{command[0]} did not start\n{ends_of_logs(self.folder)}",
        )
        assert process.poll() is None, log.read_text(errors="replace")[-3000:]
        return process

    def add(self) -> None:
        """Make its network, with nothing in it but itself."""
        ip("netns", "add", self.namespace)
        self.ip("link", "set", "lo", "up")

    def ip(self, *words: str) -> None:
        """Run `ip` here."""
        ip("-n", self.namespace, *words)

    def kill(self) -> None:
        """What a power cut does to everything that runs here."""
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def end(self) -> None:
        """Kill everything that runs here, whoever started it: what it still holds is of no interest."""
        self.kill()
        for process in self.processes:
            process.wait()
        subprocess.run(["ip", "netns", "del", self.namespace], check=False, capture_output=True)

    def pids(self) -> list[int]:
        """Processes that run here."""
        found = subprocess.run(["ip", "netns", "pids", self.namespace], capture_output=True, text=True, check=False).stdout
        return [int(pid) for pid in found.split()]


def ip(*words: str) -> None:
    """Run `ip`, which says why on failure."""
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"ip {' '.join(words)}: {done.stderr}"


def require_namespaces() -> None:
    """Skip, or fail in CI, where hosts cannot be made."""
    components.program("ip", "apt-get install iproute2")
    components.program("unshare", "apt-get install util-linux")
    allowed = subprocess.run(["unshare", "--net", "--uts", "--mount", "true"], capture_output=True, check=False).returncode == 0
    if os.geteuid() != 0 or not allowed:
        components.missing(
            "the right to make network namespaces", "run these tests as root, in a container with CAP_SYS_ADMIN and CAP_NET_ADMIN"
        )
