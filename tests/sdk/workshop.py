"""A worker on a fleet in memory, and what its tests wait for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from clockwork_client.calls import Machine
from clockwork_client.client import Clockwork
from clockwork_client.worker import Pool, Worker
from clockwork_client.worker.clock import Clock, Monotonic
from clockwork_client.worker.queues import Queue
from tests.sdk.edge import CREDENTIALS, URL
from tests.sdk.fleet import PATIENCE, Fleet, VirtualClock, Work


def worker_of(pool: Pool, fleet: Fleet, clock: Clock | None = None, **options: Any) -> Worker:
    """A worker; its client signs with `credentials` and sends by `transport`, if they are given."""
    # A client's calls wait in the worker's time: a call that is repeated takes some of it.
    ticking = clock or Monotonic()
    machine = Machine(ticking.now, lambda _: time.sleep(0.005), lambda: 1.0)
    credentials, transport = options.pop("credentials", CREDENTIALS), options.pop("transport", fleet)
    cw = Clockwork(URL, "acme", credentials=credentials, transport=transport, machine=machine)
    queues: dict[str, Queue] = dict(fleet.queues)
    return Worker(pool, cw, queues=queues, clock=clock, **{"worker_id": "host-1", "drain": 0.0, **options})


@contextmanager
def working(worker: Worker, clock: VirtualClock | None = None) -> Iterator[None]:
    """A worker that works meanwhile, and is drained afterwards. A virtual clock goes on while it is."""
    thread = threading.Thread(target=worker.run)
    thread.start()
    try:
        yield
    finally:
        worker.drain()
        ends_at = time.monotonic() + PATIENCE
        while clock is not None and thread.is_alive() and time.monotonic() < ends_at:
            clock.advance(0.5)
            thread.join(0.005)
        thread.join(PATIENCE)
        assert not thread.is_alive()


def ended(*works: Work) -> Callable[[], bool]:
    """Whether the outcomes of all these are told."""
    return lambda: all(one.outcome is not None for one in works)


def told(work: Work) -> dict[str, Any]:
    """The outcome that was told of an execution that has ended, without its token."""
    assert work.outcome is not None
    return {name: value for name, value in work.outcome.items() if name != "token"}
