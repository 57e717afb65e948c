"""Runs one of the other schedulers in a process of its own, and ends it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.rivals.environment import PYTHON

#: Systems in the order in which they run; each has a program `run_<name>.py` here.
RIVALS = ("apscheduler", "celery", "huey")
STOP_SECONDS = 3


class RivalFailed(Exception):
    """The scheduler did not accept its jobs; the message is the end of its log."""


@contextmanager
def rival(name: str, jobs: Sequence[tuple[str, int]]) -> Iterator[None]:
    """Hand a scheduler the (url, due instant in ms) of all jobs, and let it run until the end of the block.

    Raises RivalFailed.
    """
    program = Path(__file__).parent / f"run_{name}.py"
    # Files that the scheduler leaves when it is killed are removed with the folder.
    with tempfile.TemporaryFile("w+") as log, tempfile.TemporaryDirectory(prefix="clockwork-rival-") as folder:
        process = subprocess.Popen(
            [str(PYTHON), str(program)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env={**os.environ, "TMPDIR": folder},
            start_new_session=True,
        )
        try:
            assert process.stdin
            assert process.stdout
            process.stdin.write(json.dumps(jobs) + "\n")
            process.stdin.flush()
            if process.stdout.readline() != "ready\n":
                process.wait()
                log.seek(0)
                raise RivalFailed(log.read()[-500:].strip() or f"it ended with {process.returncode}")
            yield
        finally:
            _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    """Ask the process to end, then kill it with its group: some schedulers wait for their workers first."""
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for stream in (process.stdin, process.stdout):
        assert stream
        stream.close()
