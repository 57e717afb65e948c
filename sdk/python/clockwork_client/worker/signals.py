"""Runs a worker in the main thread of a process, which SIGTERM and SIGINT drain, and further ones hurry."""

from __future__ import annotations

import signal
from pathlib import Path
from threading import Event, Thread

from clockwork_client.worker.worker import Worker

#: A worker whose queues gave no answer for so long (s) is stuck: SQS answers a poll within 20 s.
STUCK_AFTER = 120.0
_EVERY = 5.0
#: So often (s) it is looked whether a signal came.
_LOOKS_EVERY = 0.1
_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def run_until_signalled(worker: Worker, alive_file: Path | None = None) -> None:
    """Work until SIGTERM or SIGINT, and drain; raises what the worker raises.

    `alive_file` is touched while the queues answer, for a probe.
    """
    ended, signalled, failures = Event(), list[int](), list[BaseException]()
    # A handler runs between any two instructions of the main thread, also of another signal's handler. So it takes no
    # lock, as that of an Event: it notes the signal, and the loop below does the rest.
    before = {one: signal.signal(one, lambda number, _: signalled.append(number)) for one in _SIGNALS}
    if alive_file is not None:
        Thread(target=_show_life, args=(worker, alive_file, ended), daemon=True).start()
    working = Thread(target=_run, args=(worker, failures), name="clockwork-worker")
    working.start()
    try:
        while working.is_alive():
            working.join(_LOOKS_EVERY)
            while signalled:
                signalled.pop()
                worker.drain()
    finally:
        ended.set()
        for one, handler in before.items():
            signal.signal(one, handler)
    if failures:
        raise failures[0]


def _run(worker: Worker, failures: list[BaseException]) -> None:
    try:
        worker.run()
    except BaseException as error:  # noqa: BLE001 - raised again where the worker was started
        failures.append(error)


def _show_life(worker: Worker, alive_file: Path, ended: Event) -> None:
    while not ended.wait(_EVERY):
        if worker.seconds_since_receive() < STUCK_AFTER:
            alive_file.touch()
