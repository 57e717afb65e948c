"""Several commands at once, such as runs of pytest that wait for different things and share the cores.

    python -m tests.support.side_by_side 'NAME=COMMAND' ...

Each line that a command prints appears at once, behind its name; the last lines are the closing lines of each, as they
are. The exit status is 0 if it is that of every command, else the first other one.
"""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import NoReturn


class Running:
    """A command whose lines are passed on as they come. `last` is the last one that is not empty."""

    def __init__(self, name: str, command: Sequence[str], width: int) -> None:
        self.name = name
        self.last = ""
        self._label = f"{name:{width}} | "
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        self._reader = threading.Thread(target=self._pass_on)
        self._reader.start()

    def wait(self) -> int:
        """Its exit status, once it has ended and all is said."""
        status = self._process.wait()
        self._reader.join()
        return status

    def end(self) -> None:
        """End it, if it has not ended; whatever it started ends with its standard input."""
        self._process.terminate()
        self.wait()

    def _pass_on(self) -> None:
        assert self._process.stdout
        with self._process.stdout as lines:
            for line in lines:
                self.last = line.strip() or self.last
                print(f"{self._label}{line}", end="", flush=True)


def run_all(commands: Mapping[str, Sequence[str]]) -> int:
    """Run all at once; the exit status."""
    width = max(map(len, commands))
    running = [Running(name, command, width) for name, command in commands.items()]
    try:
        statuses = [one.wait() for one in running]
    finally:
        for one in running:
            one.end()
    for one, status in zip(running, statuses, strict=True):
        print(f"{one.name}: exit status {status}")
    print("\n".join(one.last for one in running), flush=True)
    return next((status for status in statuses if status), 0)


def _end(number: int, frame: object) -> NoReturn:
    sys.exit(128 + number)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _end)
    named = (argument.partition("=") for argument in sys.argv[1:])
    sys.exit(run_all({name: shlex.split(command) for name, _, command in named}))
