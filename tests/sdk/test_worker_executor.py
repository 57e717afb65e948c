"""The threads beside the loop of `async` handlers: they do as those of ThreadPoolExecutor, and keep no process."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest

from clockwork_client.worker.executor import DaemonThreads
from clockwork_client.worker.loop import Loop
from tests.sdk.fleet import PATIENCE

#: A program that works for a pool in memory, and then says what it has done.
PROGRAM = """
import asyncio, time
import clockwork_client.worker.worker as module
from clockwork_client.worker import Pool
from clockwork_client.worker.clock import Monotonic
from tests.sdk.fleet import Fleet
from tests.sdk.workshop import worker_of

fleet, pool = Fleet(Monotonic()), Pool("batch-etl")
fleet.add("a")
module.Worker = lambda pool, cw, **options: worker_of(pool, fleet, **options)

@pool.handler()
async def work(payload, ctx):
    print("begun", flush=True)
    await asyncio.to_thread(time.sleep, 60)

pool.run(drain=0, clockwork=object())
print(fleet.works["a"].outcome["outcome"])
"""


def test_a_program_ends_behind_its_run_although_a_thread_beside_the_loop_goes_on(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        begun_at = time.monotonic()
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=PATIENCE)
    assert time.monotonic() - begun_at < 15
    assert (process.returncode, out) == (0, "handback\n")


@pytest.fixture
def threads() -> Iterator[DaemonThreads]:
    made = DaemonThreads()
    yield made
    made.shutdown(wait=False)


def test_calls_run_beside_each_other_in_no_more_threads_than_are_wanted(threads: DaemonThreads) -> None:
    gate, most = threading.Event(), threads._most
    futures = [threads.submit(gate.wait, PATIENCE) for _ in range(most + 5)]
    assert [one.is_alive() for one in threads._begun] == [True] * most
    gate.set()
    assert [one.result(PATIENCE) for one in futures] == [True] * (most + 5)
    assert all(one.daemon for one in threads._begun)


def test_there_are_no_more_threads_than_they_may_be_and_they_bear_their_name() -> None:
    threads, names, both = DaemonThreads(2, "test"), list[str](), threading.Barrier(2)

    def call() -> None:
        names.append(threading.current_thread().name)
        both.wait(PATIENCE)

    futures = [threads.submit(call) for _ in range(4)]
    for one in futures:
        one.result(PATIENCE)
    threads.shutdown()
    assert {*names} == {"test-1", "test-2"}


def test_a_thread_that_is_free_is_used_again(threads: DaemonThreads) -> None:
    for number in range(5):
        assert threads.submit(pow, 2, exp=number).result(PATIENCE) == 2**number
        while threads._in_progress:
            time.sleep(0.001)
    assert len(threads._begun) == 1


@pytest.mark.parametrize("error", [ValueError("bad"), SystemExit(3)])
def test_what_a_call_raises_is_raised_where_it_is_awaited(threads: DaemonThreads, error: BaseException) -> None:
    def fails() -> None:
        raise error

    with pytest.raises(type(error)):
        threads.submit(fails).result(PATIENCE)
    assert threads.submit(pow, 2, 3).result(PATIENCE) == 8


def test_a_machine_without_a_thread_more_goes_on_with_those_there_are(
    threads: DaemonThreads, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    gate = threading.Event()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuses)
        with pytest.raises(RuntimeError, match="start"):
            threads.submit(gate.wait, PATIENCE)
    one = threads.submit(gate.wait, PATIENCE)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuses)
        other = threads.submit(pow, 2, 3)
    gate.set()
    assert (one.result(PATIENCE), other.result(PATIENCE)) == (True, 8)


@pytest.mark.parametrize("is_cancelled", [False, True])
def test_a_shutdown_takes_no_more_and_cancels_if_it_is_told_to(threads: DaemonThreads, is_cancelled: bool) -> None:
    gate = threading.Event()
    running: list[Future[bool]] = [threads.submit(gate.wait, PATIENCE) for _ in range(threads._most)]
    waiting = threads.submit(pow, 2, 3)
    while not all(one.running() for one in running):
        time.sleep(0.001)
    threads.shutdown(wait=False, cancel_futures=is_cancelled)
    with pytest.raises(RuntimeError, match="shut down"):
        threads.submit(pow, 2, 3)
    gate.set()
    threads.shutdown()
    assert not any(one.is_alive() for one in threads._begun)
    assert waiting.cancelled() is is_cancelled
    assert is_cancelled or waiting.result() == 8


def test_the_loop_of_handlers_hands_over_to_them() -> None:
    async def named() -> tuple[str, bool]:
        thread = await asyncio.to_thread(threading.current_thread)
        return thread.name, thread.daemon

    assert asyncio.run_coroutine_threadsafe(named(), Loop().get()).result(PATIENCE) == ("clockwork-to-thread-1", True)
