"""The target of all jobs, in a process of its own, which can be killed, stopped, and told to refuse."""

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
    """Keeps its port and all arrivals over each of its deaths."""

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
        """Of the process that answers at the moment."""
        return self._process.pid

    @property
    def place(self) -> str:
        """Its host and port."""
        return f"127.0.0.1:{self.port}"

    def arrivals(self) -> list[Arrival]:
        """All so far, in the order in which they came."""
        with self._reading, self._file.open("rb") as opened:
            opened.seek(self._read)
            whole, _, _ = opened.read().rpartition(b"\n")
            if whole:
                self._read += len(whole) + 1
                self._arrivals += [arrival_of(json.loads(line)) for line in whole.split(b"\n")]
            return list(self._arrivals)

    def await_arrival(self, seconds: float = 60) -> None:
        """Wait for the next attempt: it is under way when this returns, if the target holds it."""
        seen = len(self.arrivals())
        await_value(lambda: True if len(self.arrivals()) > seen else None, "the next attempt", seconds, 0.005)

    def order(self, order: str) -> None:
        """What it answers from now on (`status 500`), and after how long (`hold 0.5`)."""
        assert self._process.stdin
        self._process.stdin.write(f"{order}\n")
        self._process.stdin.flush()

    def die(self) -> None:
        """Nobody listens at its port any more."""
        self._process.kill()
        self._end()

    def rise(self) -> None:
        """It is back, and accepts."""
        self._process = self._launch()

    def freeze(self) -> None:
        """Connections are taken, and nothing is answered."""
        os.kill(self.process_id, signal.SIGSTOP)

    def thaw(self) -> None:
        """It goes on with whatever came meanwhile."""
        os.kill(self.process_id, signal.SIGCONT)

    def close(self) -> None:
        """End it, in whatever state it is."""
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
    """A target that accepts everything, on a free port of 127.0.0.1."""
    running = Target(folder)
    try:
        yield running
    finally:
        running.close()
