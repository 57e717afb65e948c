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
        "graphile-worker 0.17 on PostgreSQL with its defaults, concurrency 100. The jobs of a dead worker come back "
        "after four hours, so they count as lost."
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
