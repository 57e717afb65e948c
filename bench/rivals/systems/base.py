"""The interface of every system for the benchmark."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from bench.rivals.running.children import GUARD, PROGRAMS, Child, kill
from bench.rivals.running.usage import cpu_seconds, memory_bytes, tree

STORE, WORKER, CLIENT = "store", "worker", "client"
#: A program's path: the protocols of this folder and of the programs.
PATH = f"{PROGRAMS.parent}:{PROGRAMS}"
CREATE_SECONDS = 1_800


class NotToBeHad(Exception):
    """A system cannot be installed or run on this machine; the message says why."""


@dataclass(frozen=True)
class Usage:
    """CPU that all processes of a system have used so far, and the memory that its store and worker hold."""

    cpu_seconds: float
    memory_bytes: int


class System(ABC):
    """One system under measurement, with its files in `folder`. Every method may raise ChildFailed."""

    #: As the JSON names it; and what it is, with the settings that matter, in words for the page.
    name: ClassVar[str]
    said: ClassVar[str]
    #: Stands beside its name in the tables: that it is not durable, if so.
    note: ClassVar[str] = ""
    #: Whether the store is a process other than the workers, so that workers can be killed alone.
    has_own_store: ClassVar[bool] = True
    #: Whether it needs both cores to begin, so that nothing else may be killed or started beside it.
    needs_all_cores: ClassVar[bool] = False

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._children: dict[str, Child] = {}
        self._roots: dict[str, int] = {}

    @classmethod
    def install(cls) -> None:
        """Install what it needs, unless that is there; most need nothing. Raises NotToBeHad."""
        return

    @abstractmethod
    def start(self, receiver_port: int) -> None:
        """Start everything; returns when jobs are accepted."""

    @abstractmethod
    def restart(self, *, workers_alone: bool) -> None:
        """Start again what `kill` has killed."""

    def create(self, jobs: Sequence[tuple[str, int]], *, together: bool = False) -> float:
        """Have jobs of (url, due instant in ms) accepted; returns how long that took (s)."""
        client = self._children.get(CLIENT) or self._children[WORKER]
        return float(client.ask({"jobs": jobs, "together": together}, CREATE_SECONDS)["seconds"])

    def usage(self) -> Usage:
        """Its present use of CPU and memory."""
        kept = [root for role, root in self._roots.items() if role != CLIENT]
        return Usage(cpu_seconds(tree(self._roots.values())), memory_bytes(tree(kept)))

    def kill(self, *, workers_alone: bool) -> None:
        """Kill its workers with SIGKILL, or everything but the guards."""
        roles = [WORKER] if workers_alone else list(self._roots)
        kill(tree([self._roots[role] for role in roles if role in self._roots]))
        for role in roles:
            self._children.pop(role).stop()
            del self._roots[role]

    def stop(self) -> None:
        """End everything that runs. Files stay until the folder is removed."""
        while self._children:
            self._children.popitem()[1].stop()
        self._roots.clear()

    def _serve(self, role: str, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        """Start a server that neither asks nor answers, under a guard."""
        child = self._add(role, Child([*GUARD, *command], self.folder / f"{role}.log", environment))
        self._roots[role] = int(child.answer()["pid"])

    def _run(self, role: str, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        """Start one of the programs, and wait until it is ready."""
        environment = {"PYTHONPATH": PATH, "PYTHONDONTWRITEBYTECODE": "1", **(environment or {})}
        child = self._add(role, Child(command, self.folder / f"{role}.log", environment))
        self._roots[role] = child.pid
        child.answer()

    def _add(self, role: str, child: Child) -> Child:
        self._children[role] = child
        return child


def of_this_project(program: str, *arguments: str) -> list[str]:
    """The command of a program that runs in this project's own environment."""
    return [sys.executable, "-m", f"bench.rivals.programs.{program}", *arguments]
