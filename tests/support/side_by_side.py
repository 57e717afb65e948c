"""Runs several commands at once, such as pytest runs that wait for different things and share the cores.

    python -m tests.support.side_by_side 'NAME=COMMAND' ...

Each line that a command prints appears at once, behind the command's name. At the end the last line of each command
follows, without the name. Of a command that failed, the last sixteen lines follow, and the lines before them that name
a failed test, for a reader who sees no more than the end. The exit status is 0 if every command exits with 0, otherwise
that of the first command that does not.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from typing import NoReturn

#: The lines of a command that failed are printed again: so many last ones, and so many before those that name a failed
#: test.
_LAST = 16
#: The beginnings of a line of pytest's summary. The rest is one line, or as many as the assertion's message has.
_NAMES = ("FAILED ", "ERROR ")


class Running:
    """A running command. Its lines are printed as they come.

    `last` are the last ones that are not empty, `named` the last ones before those that name a failed test.
    `cpu_seconds`: of the command and of all processes that it waited for, once it has ended.
    """

    def __init__(self, name: str, command: Sequence[str], width: int) -> None:
        self.name = name
        self.cpu_seconds = 0.0
        self.last: deque[str] = deque(maxlen=_LAST)
        self.named: deque[str] = deque(maxlen=_LAST)
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
        """Waits until the command has ended and its output is printed; returns its exit status."""
        if self._process.returncode is None:
            _, ended, used = os.wait4(self._process.pid, 0)
            self._process.returncode = os.waitstatus_to_exitcode(ended)
            self.cpu_seconds = used.ru_utime + used.ru_stime
        self._reader.join()
        return self._process.returncode

    def end(self) -> None:
        """Terminates the command if it still runs; processes that it started end with their standard input."""
        self._process.terminate()
        self.wait()

    def _pass_on(self) -> None:
        assert self._process.stdout
        with self._process.stdout as lines:
            for line in lines:
                if line.strip():
                    self._keep(line.strip())
                print(f"{self._label}{line}", end="", flush=True)

    def _keep(self, line: str) -> None:
        if len(self.last) == _LAST and self.last[0].startswith(_NAMES):
            self.named.append(self.last[0])
        self.last.append(line)


def run_all(commands: Mapping[str, Sequence[str]]) -> int:
    """Runs all commands at once; returns the exit status."""
    width = max(map(len, commands))
    running = [Running(name, command, width) for name, command in commands.items()]
    try:
        statuses = [one.wait() for one in running]
    finally:
        for one in running:
            one.end()
    for one, status in zip(running, statuses, strict=True):
        print(f"{one.name}: exit status {status}, {one.cpu_seconds:.0f} s of CPU")
    for one, status in zip(running, statuses, strict=True):
        print(*((*one.named, *one.last) if status else list(one.last)[-1:]), sep="\n", flush=True)
    return next((status for status in statuses if status), 0)


def _end(number: int, frame: object) -> NoReturn:
    sys.exit(128 + number)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _end)
    named = (argument.partition("=") for argument in sys.argv[1:])
    sys.exit(run_all({name: shlex.split(command) for name, _, command in named}))
