"""A system of three processes: a store at a port of its own, a worker and a client."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path

from bench.rivals.running.children import await_port, free_port
from bench.rivals.systems.base import CLIENT, STORE, WORKER, System


class Served(System):
    """The parts that differ between these systems: the command of the store, and the program of worker and client."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._port = free_port()

    @abstractmethod
    def _store(self) -> Sequence[str]:
        """The command of the store, whose files are made by then."""

    @abstractmethod
    def _program(self, role: str) -> Sequence[str]:
        """The command of the worker or the client."""

    def start(self, receiver_port: int) -> None:  # noqa: ARG002 - none of them needs leave to post there
        """The store, then the worker, which makes its tables if it has some, and the client."""
        self._serve(STORE, self._store())
        await_port(self._port)
        self._run(WORKER, self._program(WORKER))
        self._run(CLIENT, self._program(CLIENT))

    def restart(self, *, workers_alone: bool) -> None:
        """The worker, or everything on the same files."""
        if workers_alone:
            self._run(WORKER, self._program(WORKER))
        else:
            self.start(0)
