"""Runs a worker in the main thread of a process, which SIGTERM and SIGINT drain, and a second one hurries."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from typing import Any

from clockwork_client.worker.worker import Worker

#: A worker whose queues gave no answer for so long (s) is stuck: SQS answers a poll within 20 s.
STUCK_AFTER = 120.0
_EVERY = 5.0


def run_until_signalled(worker: Worker, alive_file: Path | None = None) -> None:
    """Work until SIGTERM or SIGINT, and drain. `alive_file` is touched while the queues answer, for a probe."""
    ended = Event()
    before = {one: signal.signal(one, _draining(worker)) for one in (signal.SIGTERM, signal.SIGINT)}
    if alive_file is not None:
        Thread(target=_show_life, args=(worker, alive_file, ended), daemon=True).start()
    # Signals are handled between the instructions of the main thread: it must not wait for a lock meanwhile.
    working = Thread(target=worker.run, name="clockwork-worker")
    working.start()
    try:
        while working.is_alive():
            working.join(0.2)
    finally:
        ended.set()
        for one, handler in before.items():
            signal.signal(one, handler)


def _draining(worker: Worker) -> Callable[[int, Any], None]:
    def drain(_: int, __: Any) -> None:
        worker.drain()

    return drain


def _show_life(worker: Worker, alive_file: Path, ended: Event) -> None:
    while not ended.wait(_EVERY):
        if worker.seconds_since_receive() < STUCK_AFTER:
            alive_file.touch()
