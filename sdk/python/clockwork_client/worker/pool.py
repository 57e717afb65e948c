"""A pool that a program fills with handlers and runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clockwork_client.worker.registry import Registry

if TYPE_CHECKING:
    from clockwork_client.client import Clockwork


class Pool(Registry):
    """Functions for the handlers of a pool. Each takes the payload and a Context; it may be `async`."""

    def run(self, *, concurrency: int = 10, drain: float = 30.0, clockwork: Clockwork | None = None) -> None:
        """Work until SIGTERM or SIGINT; see `Worker`. To be called in the main thread."""
        from clockwork_client.client import Clockwork
        from clockwork_client.worker.signals import run_until_signalled
        from clockwork_client.worker.worker import Worker

        run_until_signalled(Worker(self, clockwork or Clockwork(), concurrency=concurrency, drain=drain))
