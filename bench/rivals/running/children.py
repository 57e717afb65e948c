"""Processes of a system: started on a line of their own, asked line by line, killed by their ids."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.rivals.running.usage import tree

PROGRAMS = Path(__file__).parents[1] / "programs"
#: Runs another program, and kills it when its own standard input ends: nothing outlives the benchmark.
GUARD = (sys.executable, str(PROGRAMS / "guard.py"))
START_SECONDS = 60
STOP_SECONDS = 3
LONGEST_LOG = 600


class ChildFailed(Exception):
    """A process did not answer, or ended; the message holds the end of its log."""


class Child:
    """One process with what it starts. It reads JSON lines on standard input and writes others on standard output."""

    def __init__(self, command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None) -> None:
        self._log = log
        with log.open("ab") as stderr:
            self._process = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env={**os.environ, **(environment or {})},
                start_new_session=True,
            )
        self._unread = b""

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    def ask(self, question: object, seconds: float) -> Any:
        """Write a line and return the answer. Raises ChildFailed after so many seconds without one."""
        assert self._process.stdin
        try:
            self._process.stdin.write(json.dumps(question).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise ChildFailed(self._said("it has ended")) from None
        return self.answer(seconds)

    def answer(self, seconds: float = START_SECONDS) -> Any:
        """The next line. Raises ChildFailed after so many seconds without one."""
        assert self._process.stdout
        deadline = time.monotonic() + seconds
        while b"\n" not in self._unread:
            ready, _, _ = select.select([self._process.stdout], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise ChildFailed(self._said(f"no answer within {seconds:.0f} s"))
            if not (more := os.read(self._process.stdout.fileno(), 65_536)):
                raise ChildFailed(self._said(f"it ended with {self._process.wait()}"))
            self._unread += more
        line, _, self._unread = self._unread.partition(b"\n")
        return json.loads(line)

    def stop(self) -> None:
        """End the process and all that it has started."""
        left = tree([self.pid]) if self._process.poll() is None else []
        for stream in (self._process.stdin, self._process.stdout):
            assert stream
            with contextlib.suppress(BrokenPipeError):
                stream.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_SECONDS)
        kill(left)
        self._process.wait()

    def _said(self, what: str) -> str:
        log = self._log.read_text(errors="replace").strip()
        return f"{what}. {log[-LONGEST_LOG:]}".strip()


def kill(pids: Sequence[int]) -> None:
    """Kill processes with SIGKILL, those that have ended aside."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def free_port() -> int:
    """A port of 127.0.0.1 at which nothing listens now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def await_port(port: int, seconds: float = START_SECONDS) -> None:
    """Wait until something listens at a port of 127.0.0.1. Raises ChildFailed after so many seconds."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    raise ChildFailed(f"nothing listens at port {port} after {seconds:.0f} s")
