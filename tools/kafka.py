"""Bring Apache Kafka's jars, once for each version, and print the folder they lie in.

They come through Maven, with everything they need, as Kafka's own distribution ships them; tests start a one-node cluster (KRaft) of them.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path
from string import Template

from tools.environment import cache_folder, locked

VERSION = "4.1.0"
PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
POM = Template("""\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>rollscope</groupId>
  <artifactId>kafka-jars</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>$version</version></dependency>
    <dependency><groupId>org.apache.logging.log4j</groupId><artifactId>log4j-slf4j-impl</artifactId><version>2.25.1</version></dependency>
  </dependencies>
</project>
""")


class FetchError(Exception):
    """When the jars cannot be had; the message ends with the cure."""


def java() -> str:
    """Return the path of a Java runtime."""
    return _program("java", "install a Java runtime, 17 or newer")


def ensure(version: str = VERSION) -> Path:
    """Return the folder with Kafka's jars, fetching them when it is not there."""
    place = cache_folder() / f"kafka-{version}"
    if place.exists():
        return place
    place.parent.mkdir(parents=True, exist_ok=True)
    with locked(cache_folder() / f"kafka-{version}.lock"):
        if not place.exists():
            _fetch(version, place)
    return place


def _fetch(version: str, place: Path) -> None:
    maven = _program("mvn", "install Apache Maven")
    print(f"fetching Apache Kafka {version} (once)", file=sys.stderr)
    aside = place.with_name(f"{place.name}.partial")
    shutil.rmtree(aside, ignore_errors=True)
    (aside / "jars").mkdir(parents=True)
    (aside / "pom.xml").write_text(POM.substitute(version=version), encoding="utf-8")
    command = [maven, "-B", "-q", "-f", str(aside / "pom.xml"), PLUGIN, "-DincludeScope=runtime", f"-DoutputDirectory={aside / 'jars'}"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise FetchError(f"Apache Kafka {version} cannot be fetched: Maven ended with {done.returncode}:\n{done.stdout[-4000:]}")
    (aside / "jars").rename(place)
    shutil.rmtree(aside)


def _program(name: str, cure: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise FetchError(f"{name} is not on the path: {cure}")
    return found


def main() -> int:
    """Print the folder on standard output; everything else goes to standard error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("version", nargs="?", default=VERSION, help="release of Apache Kafka (default: %(default)s)")
    try:
        print(ensure(parser.parse_args().version))
    except FetchError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
