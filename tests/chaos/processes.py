"""The processes of a running emulator: the emulator itself, and one for each environment of a Lambda."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from local.stack import LocalStack

_PROC = Path("/proc")


class Process(NamedTuple):
    """A process as the operating system describes it. `group` is the process group; the memory is resident memory."""

    id: int
    group: int
    memory_bytes: int
    command: str


class Environments:
    """The Lambda environments of a stack that run at the moment, by moment (`deliverer`)."""

    def __init__(self, stack: LocalStack) -> None:
        self._stack = stack
        self.functions: Mapping[str, str] = {
            key.removesuffix("Function").lower(): name
            for key, name in stack.outputs.items()
            if key.endswith("Function")
        }

    def of(self, moment: str) -> list[Process]:
        """All processes of one Lambda."""
        return [process for process in self._all() if f"ministack-lambda-{self.functions[moment]}-" in process.command]

    def emulator(self) -> Process:
        """The emulator's own process."""
        return self.other(self._stack.emulator.process_group)

    def other(self, process_id: int) -> Process:
        """The process with this id, whichever it is on this machine."""
        return next(process for process in processes() if process.id == process_id)

    def signal(self, moment: str, number: signal.Signals) -> int:
        """Sends a signal to all processes of one Lambda; returns how many received it."""
        return sum(send(process.id, number) for process in self.of(moment))

    def _all(self) -> list[Process]:
        group = self._stack.emulator.process_group
        return [process for process in processes() if process.group == group]


def send(process_id: int, number: signal.Signals) -> bool:
    """Sends a signal; returns False if the process no longer exists."""
    with suppress(ProcessLookupError):
        os.kill(process_id, number)
        return True
    return False


def processes() -> Iterator[Process]:
    """All processes of this machine that this user may read."""
    if not (_PROC / "self/stat").exists():  # not Linux
        yield from map(
            _of_ps, subprocess.check_output(["ps", "-axwwo", "pid=,pgid=,rss=,args="], text=True).splitlines()
        )
        return
    for folder in _PROC.iterdir():
        if folder.name.isdecimal():
            with suppress(OSError):  # the process has ended meanwhile
                yield _of_proc(folder)


def _of_ps(line: str) -> Process:
    process_id, group, kilobytes, command = line.split(None, 3)
    return Process(int(process_id), int(group), int(kilobytes) * 1024, command)


def _of_proc(folder: Path) -> Process:
    """https://man7.org/linux/man-pages/man5/proc.5.html: the fields of stat follow the name, which is in brackets."""
    fields = (folder / "stat").read_text().rpartition(")")[2].split()
    command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    pages = int((folder / "statm").read_text().split()[1])
    return Process(int(folder.name), int(fields[2]), pages * os.sysconf("SC_PAGE_SIZE"), command)
