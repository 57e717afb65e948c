"""graphile-worker on PostgreSQL."""

from __future__ import annotations

import shutil
from pathlib import Path

from bench.rivals.running.children import PROGRAMS, await_port, free_port
from bench.rivals.systems import postgres
from bench.rivals.systems.base import CLIENT, STORE, WORKER, NotToBeHad, System
from bench.rivals.systems.installing import node_modules


class Graphile(System):
    """A PostgreSQL, one worker in Node, and a client in Node."""

    name = "graphile_worker"
    said = (
        "graphile-worker 0.17 in Node on PostgreSQL with its defaults (`fsync` and `synchronous_commit` on). One "
        "worker with concurrency 100 and as many connections, `pollInterval` 500 ms (default 2,000). It frees the "
        "jobs of a worker that died after four hours, so within the time watched they are lost. One job by `addJob`; "
        "for memory, 500 a statement."
    )

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._port = free_port()

    @classmethod
    def install(cls) -> None:
        """PostgreSQL, unless it is there; the worker from npm."""
        if shutil.which("node") is None:
            raise NotToBeHad("there is no `node` on the PATH")
        postgres.ensure()
        node_modules("graphile")

    def start(self, receiver_port: int) -> None:  # noqa: ARG002 - it needs no leave to post there
        """The store, then the worker, which makes its tables, and the client."""
        if not (self.folder / "data").exists():
            postgres.initialise(self.folder)
        self._serve(STORE, postgres.command(self.folder, self._port))
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
        place = f"postgres://{postgres.USER}@127.0.0.1:{self._port}/postgres"
        self._run(role, ["node", str(PROGRAMS / "graphile.mjs"), role, str(node_modules("graphile")), place])
