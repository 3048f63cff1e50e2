"""A real Apache Kafka of one node, from the jars that `tools.kafka` brings."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

from tests import components
from tools.kafka import java

CLUSTER = "cm9sbHNjb3BlLXRlc3RzMA"
"""A cluster's id: 16 bytes as base64."""


def prepare(folder: Path, port: int, controller: int) -> list[str]:
    """Format the log folder; return the command that runs the broker on it, now and after it was ended."""
    folder.mkdir()
    config = folder / "server.properties"
    config.write_text(
        "process.roles=broker,controller\nnode.id=1\n"
        f"controller.quorum.voters=1@127.0.0.1:{controller}\ncontroller.listener.names=CONTROLLER\n"
        f"listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}\n"
        f"advertised.listeners=PLAINTEXT://127.0.0.1:{port}\n"
        "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT\n"
        f"log.dirs={folder / 'logs'}\n"
        # Limits of size are those that Kafka comes with.
        "num.partitions=1\noffsets.topic.num.partitions=1\noffsets.topic.replication.factor=1\n"
        "group.initial.rebalance.delay.ms=0\n",
        encoding="utf-8",
    )
    (folder / "log4j2.properties").write_text(
        "appender.out.type=Console\nappender.out.name=out\nappender.out.layout.type=PatternLayout\n"
        "appender.out.layout.pattern=%d %p %c: %m%n\nrootLogger.level=warn\nrootLogger.appenderRef.out.ref=out\n",
        encoding="utf-8",
    )
    run = [java(), "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", f"-Dlog4j2.configurationFile={folder / 'log4j2.properties'}"]
    run += ["-cp", f"{components.kafka()}/*"]
    storage = [*run, "kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c", str(config)]
    done = subprocess.run(storage, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return [*run, "kafka.Kafka", str(config)]


def listens(port: int) -> bool:
    """Whether something takes connections on a port."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0
