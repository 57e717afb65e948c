"""The target of all jobs: a process of its own, which a round can kill, stop, and order to fail."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from infra import ROOT
from tests.chaos.promises import Arrival, arrival_of
from tests.e2e.waiting import await_value

PROGRAM = "tests.chaos.target_program"


class Target:
    """The target's process. The port and the list of arrivals outlive each time it is killed."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "arrivals.jsonl"
        self._file.touch()
        self._arrivals: list[Arrival] = []
        self._read = 0
        self._reading = threading.Lock()
        self.port = 0
        self._process = self._launch()

    @property
    def process_id(self) -> int:
        """The id of the process that answers at the moment."""
        return self._process.pid

    @property
    def place(self) -> str:
        """The target's host and port."""
        return f"127.0.0.1:{self.port}"

    def arrivals(self) -> list[Arrival]:
        """All arrivals so far, in the order in which they came."""
        with self._reading, self._file.open("rb") as opened:
            opened.seek(self._read)
            whole, _, _ = opened.read().rpartition(b"\n")
            if whole:
                self._read += len(whole) + 1
                self._arrivals += [arrival_of(json.loads(line)) for line in whole.split(b"\n")]
            return list(self._arrivals)

    def await_arrival(self, seconds: float = 60) -> None:
        """Waits for the next attempt; the attempt is still under way on return if the target holds its answers."""
        seen = len(self.arrivals())
        await_value(lambda: True if len(self.arrivals()) > seen else None, "the next attempt", seconds, 0.005)

    def order(self, order: str) -> None:
        """Orders the status of further answers (`status 500`), or their delay in seconds (`hold 0.5`)."""
        assert self._process.stdin
        self._process.stdin.write(f"{order}\n")
        self._process.stdin.flush()

    def die(self) -> None:
        """Kills the process: nothing listens at its port any more."""
        self._process.kill()
        self._end()

    def rise(self) -> None:
        """Starts the process again; it accepts all attempts."""
        self._process = self._launch()

    def freeze(self) -> None:
        """Stops the process: connections are taken, and nothing is answered."""
        os.kill(self.process_id, signal.SIGSTOP)

    def thaw(self) -> None:
        """Continues the stopped process; it answers the requests that came meanwhile."""
        os.kill(self.process_id, signal.SIGCONT)

    def close(self) -> None:
        """Ends the process, in whatever state it is."""
        self._process.kill()
        self._end()

    def _launch(self) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", PROGRAM, str(self.port), str(self._file)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert process.stdout
        self.port = int(process.stdout.readline())
        return process

    def _end(self) -> None:
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream
            stream.close()


@contextmanager
def target(folder: Path) -> Iterator[Target]:
    """Runs a target that accepts everything, on a free port of 127.0.0.1."""
    running = Target(folder)
    try:
        yield running
    finally:
        running.close()
