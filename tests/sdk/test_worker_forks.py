"""Processes that handlers fork: signals end them, and none of them goes on as a second worker."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from clockwork_client.worker import Pool
from clockwork_client.worker.signals import run_until_signalled
from tests.sdk.fleet import PATIENCE, Fleet
from tests.sdk.workshop import ended, told, worker_of, working

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")


def status_of(child: int) -> int:
    """The status that a process ends with, minus the number of the signal that ended it; 999 if it does not end."""
    ends_at = time.monotonic() + 5
    while time.monotonic() < ends_at:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return 999


def leaves(how: str) -> None:
    """Leave a handler, in a process that it has forked."""
    if how == "exits":
        sys.exit(7)
    if how == "says":
        sys.exit("there is no such month")
    if how == "raises":
        raise ValueError("bad")


def plain(how: str) -> Callable[..., Any]:
    def work(*_: Any) -> Any:
        child = os.fork()
        return status_of(child) if child else leaves(how)

    return work


def on_the_loop(how: str) -> Callable[..., Any]:
    async def work(*_: Any) -> Any:
        return plain(how)()

    return work


def beside_the_loop(how: str) -> Callable[..., Any]:
    async def work(*_: Any) -> Any:
        return await asyncio.to_thread(plain(how))

    return work


@pytest.mark.parametrize("kind", [plain, on_the_loop, beside_the_loop])
@pytest.mark.parametrize(("how", "status"), [("exits", 7), ("says", 1), ("raises", 1), ("returns", 0)])
def test_a_forked_process_that_leaves_its_handler_ends_there(
    pool: Pool, fleet: Fleet, kind: Callable[[str], Callable[..., Any]], how: str, status: int
) -> None:
    pool.handler("work")(kind(how))
    one = fleet.add("a")
    with working(worker_of(pool, fleet)):
        fleet.wait_for(ended(one))
    assert told(one) == {"outcome": "complete", "result": status}
    assert len(fleet.asked("outcomes")) == 1


@pytest.mark.parametrize(("how", "status"), [(signal.SIGTERM, -signal.SIGTERM), (signal.SIGINT, 3)])
def test_a_signal_ends_a_process_that_a_handler_has_forked(
    pool: Pool, fleet: Fleet, how: signal.Signals, status: int
) -> None:
    # A job of a shell's background ignores SIGINT, and whatever it starts inherits that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    awake, waking = os.pipe()

    def sleep() -> None:
        try:
            os.write(waking, b".")
            time.sleep(PATIENCE)
        except KeyboardInterrupt:
            os._exit(3)

    @pool.handler()
    def work(*_: Any) -> Any:
        child = os.fork()
        if not child:
            sleep()
            os._exit(0)
        # A signal that comes before the child has left the fork is the worker's own.
        os.read(awake, 1)
        os.kill(child, how)
        return status_of(child)

    one = fleet.add("a")
    worker = worker_of(pool, fleet)

    def drain() -> None:
        fleet.wait_for(ended(one))
        worker.drain()

    threading.Thread(target=drain).start()
    run_until_signalled(worker)
    assert told(one) == {"outcome": "complete", "result": status}
