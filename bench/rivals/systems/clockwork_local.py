"""Clockwork: as `make run` deploys it on this machine, and its flows over the adapters in memory."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from bench.arrivals.clockwork_run import clockwork
from bench.rivals.running.children import kill
from bench.rivals.running.usage import tree
from bench.rivals.systems.base import CLIENT, WORKER, System, of_this_project
from infra import ROOT
from local.stack import LocalStack

EMULATOR = "emulator"


class Clockwork(System):
    """The deployed stack. The emulator is its store; the processes that the emulator starts are its Lambdas."""

    name = "clockwork"
    said = (
        "Clockwork as `make run` deploys it, with all jobs recorded. The emulator is Python and keeps all in memory: "
        "its losses are not DynamoDB's."
    )

    note = "on an emulator that is not durable"
    needs_all_cores = True

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._held = ExitStack()
        self._stack: LocalStack | None = None

    def start(self, receiver_port: int) -> None:
        """Deploy, then start the client that creates."""
        self._stack = stack = self._held.enter_context(clockwork(receiver_port))
        self._roots[EMULATOR] = stack.emulator.process_group
        place = [str(stack.emulator.port), str(stack.ca_bundle)]
        admin = stack.admin
        command = of_this_project("clockwork_client", stack.api_url, admin.access_key, admin.secret_key, *place)
        self._run(CLIENT, command, {"PYTHONPATH": f"{ROOT}:{ROOT / 'layers/core/python'}"})

    def kill(self, *, workers_alone: bool) -> None:
        """Kill all Lambdas, or the emulator with them."""
        emulator = self._roots[EMULATOR]
        lambdas = [pid for pid in tree([emulator]) if pid != emulator]
        kill(lambdas if workers_alone else [emulator, *lambdas])

    def restart(self, *, workers_alone: bool) -> None:
        """The emulator starts Lambdas by itself; it starts again with what it has saved, which is nothing."""
        if not workers_alone and self._stack:
            self._stack.emulator.restart()
            self._roots[EMULATOR] = self._stack.emulator.process_group

    def stop(self) -> None:
        """End the client, then the stack."""
        super().stop()
        self._held.close()


class ClockworkInMemory(System):
    """The shipped flows, without AWS and without an emulator: what the emulator costs is the difference."""

    name = "clockwork_memory"
    said = "Clockwork's flows over the adapters in memory, in one process. The row tells the emulator's cost apart."
    note = "not durable"
    has_own_store = False

    def start(self, receiver_port: int) -> None:  # noqa: ARG002 - it needs no leave to post there
        """The one process."""
        environment = {"PYTHONPATH": f"{ROOT}:{ROOT / 'layers/core/python'}"}
        self._run(WORKER, of_this_project("clockwork_memory"), environment)

    def restart(self, *, workers_alone: bool) -> None:  # noqa: ARG002 - there is one process
        """The same, empty."""
        self.start(0)
