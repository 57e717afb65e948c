"""graphile-worker on PostgreSQL."""

from __future__ import annotations

import shutil

from bench.rivals.running.children import PROGRAMS
from bench.rivals.systems import postgres
from bench.rivals.systems.base import NotToBeHad
from bench.rivals.systems.installing import node_modules
from bench.rivals.systems.served import Served


class Graphile(Served):
    """A PostgreSQL, one worker in Node, and a client in Node."""

    name = "graphile_worker"
    said = (
        "graphile-worker 0.17 in Node on PostgreSQL with its defaults (`fsync` and `synchronous_commit` on). One "
        "worker with concurrency 100 and as many connections, `pollInterval` 500 ms (default 2,000). It frees the "
        "jobs of a worker that died after four hours, so within the time watched they are lost. One job by `addJob`; "
        "for memory, 500 a statement."
    )

    @classmethod
    def install(cls) -> None:
        """PostgreSQL, unless it is there; the worker from npm."""
        if shutil.which("node") is None:
            raise NotToBeHad("there is no `node` on the PATH")
        postgres.ensure()
        node_modules("graphile")

    def _store(self) -> list[str]:
        if not (self.folder / "data").exists():
            postgres.initialise(self.folder)
        return postgres.command(self.folder, self._port)

    def _program(self, role: str) -> list[str]:
        place = f"postgres://{postgres.USER}@127.0.0.1:{self._port}/postgres"
        return ["node", str(PROGRAMS / "graphile.mjs"), role, str(node_modules("graphile")), place]
