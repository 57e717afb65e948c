"""Runs a worker in the main thread of a process, which SIGTERM and SIGINT drain, and further ones hurry."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from types import FrameType
from typing import Any

from clockwork_client.worker.logs import logger
from clockwork_client.worker.worker import Worker

log = logger(__name__)

#: A worker none of whose polls has ended for so long (s) is stuck: SQS answers one within 20 s.
STUCK_AFTER = 120.0
_EVERY = 5.0
#: The interval (s) at which the main thread looks for signals.
_LOOKS_EVERY = 0.1
_SIGNALS = (signal.SIGTERM, signal.SIGINT)
#: The handlers of the signals before the present worker.
_before: dict[signal.Signals, Any] = {}


def run_until_signalled(worker: Worker, alive_file: Path | None = None) -> None:
    """Work until SIGTERM or SIGINT, and drain. Raises the worker's exception.

    `alive_file` is touched while polls of the queues end, for a probe. A failed touch is tried again.
    """
    ended, signalled, failures = Event(), list[int](), list[BaseException]()
    # A handler runs between any two instructions of the main thread, also of another signal's handler. So it takes no
    # lock, as that of an Event: it notes the signal, and the loop below does the rest.
    _take_signals(lambda number, _: signalled.append(number))
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
        _give_signals_back()
    if failures:
        raise failures[0]


def _take_signals(handle: Callable[[int, FrameType | None], None]) -> None:
    for one in _SIGNALS:
        # None stands for one that was not set by Python, and cannot be set by it.
        _before[one] = signal.signal(one, handle) or signal.SIG_DFL


def _give_signals_back() -> None:
    for one, handler in _before.items():
        signal.signal(one, handler)
    _before.clear()


if hasattr(os, "register_at_fork"):
    # A process that a handler forks is no worker: nobody there would look at what the worker's handler notes.
    os.register_at_fork(after_in_child=_give_signals_back)


def _run(worker: Worker, failures: list[BaseException]) -> None:
    try:
        worker.run()
    except BaseException as error:  # noqa: BLE001 - raised again where the worker was started
        failures.append(error)


def _show_life(worker: Worker, alive_file: Path, ended: Event) -> None:
    is_failing = False
    while not ended.wait(_EVERY):
        if worker.seconds_since_receive() >= STUCK_AFTER:
            continue
        try:
            alive_file.touch()
            is_failing = False
        except OSError as error:
            if not is_failing:
                log.warning("%s cannot be touched, which is tried again: %s", alive_file, error)
            is_failing = True
