"""How a worker's process ends: by signals that come when they like, and at once when nothing is left to tell."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Any

import click
import pytest
from click.testing import CliRunner

from clockwork_client.cli.worker import worker as command
from clockwork_client.worker import Pool, Worker
from clockwork_client.worker.clock import Monotonic
from clockwork_client.worker.signals import run_until_signalled
from tests.sdk.fleet import PATIENCE, Fleet
from tests.sdk.workshop import worker_of

#: A worker by the real command, on a pool in memory.
CHILD = """
import atexit, sys
import clockwork_client.worker.worker as module
from clockwork_client.worker.clock import Monotonic
from tests.sdk.fleet import Fleet
from tests.sdk.workshop import worker_of
from clockwork_client.cli.worker import worker

fleet = Fleet(Monotonic())
fleet.add("a")
module.Worker = lambda pool, cw, **options: worker_of(pool, fleet, **options)
if sys.argv[1] == "fails":
    def failing(pool, cw, **options):
        made = worker_of(pool, fleet, **options)
        made.run = lambda: 1 / 0
        return made
    module.Worker = failing
atexit.register(lambda: print("said", fleet.works["a"].outcome and fleet.works["a"].outcome["outcome"]))

class State:
    cw, settings = None, {}

worker.main(["ending_jobs:pool", "--drain", "0"], obj=State())
"""

JOBS = """
import asyncio, time
from clockwork_client.worker import Pool

pool = Pool("batch-etl")

@pool.handler("work")
async def work(payload, ctx):
    print("begun", flush=True)
    await asyncio.to_thread(time.sleep, 60)
"""


#: A pool whose handler waits for a child that heeds no SIGTERM.
PARENT = """
import multiprocessing as mp, signal, sys, time
from concurrent.futures import ProcessPoolExecutor
from clockwork_client.worker import Pool

pool = Pool("batch-etl")
kind, how = {kind!r}, mp.get_context({how!r})

def sleep():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print("begun", flush=True)
    time.sleep(60)

@pool.handler("work")
def work(payload, ctx):
    if kind == "executor":
        ProcessPoolExecutor(1, mp_context=how).submit(sleep).result()
    else:
        one = how.Process(target=sleep, daemon=kind == "daemon")
        one.start()
        one.join()
"""


def child(folder: Path, how: str, jobs: str = JOBS) -> subprocess.Popen[str]:
    (folder / "ending_jobs.py").write_text(jobs)
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, how],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_the_command_ends_while_a_thread_of_a_handler_goes_on(tmp_path: Path) -> None:
    with child(tmp_path, "works") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        begun_at = time.monotonic()
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=PATIENCE)
    assert time.monotonic() - begun_at < 10
    assert (process.returncode, out) == (0, "said handback\n"), err
    assert "has ended" in err


@pytest.mark.sampled(3)
@pytest.mark.parametrize("how", ["fork", "spawn"])
@pytest.mark.parametrize("kind", ["executor", "process", "daemon"])
def test_the_command_ends_with_the_children_of_its_handlers(tmp_path: Path, kind: str, how: str) -> None:
    with child(tmp_path, "works", PARENT.format(kind=kind, how=how)) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        begun_at = time.monotonic()
        process.send_signal(signal.SIGTERM)
        # It ends with the last process that may write.
        out, err = process.communicate(timeout=PATIENCE)
    assert time.monotonic() - begun_at < 15
    assert (process.returncode, out) == (0, "said handback\n"), err


def test_the_command_of_a_worker_that_fails_says_so_by_its_status(tmp_path: Path) -> None:
    with child(tmp_path, "fails") as process:
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (1, "said None\n"), err
    assert "ZeroDivisionError" in err


def test_a_worker_that_cannot_be_is_wrong_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "named_jobs.py").write_text(JOBS.replace('"work"', '"close month"'))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    fleet = Fleet(Monotonic())
    monkeypatch.setattr(
        "clockwork_client.worker.worker.Worker", lambda pool, _, **options: worker_of(pool, fleet, **options)
    )

    class State:
        cw, settings = None, dict[str, object]()

    ended = CliRunner().invoke(command, ["named_jobs:pool"], obj=State())
    assert ended.exit_code == click.UsageError.exit_code
    assert "the handler 'close month' is not named as handlers are" in ended.output


class TestASecondSignal:
    """It ends whatever the worker waits for, so that no platform has to kill it."""

    def away(self, fleet: Fleet, what: str) -> tuple[threading.Event, threading.Event]:
        """Let calls for something hang until the second event is set; the first says that there is one."""
        asked, back = threading.Event(), threading.Event()

        def slow(name: str) -> None:
            if name == what:
                asked.set()
                back.wait(PATIENCE)

        fleet.slow = slow
        return asked, back

    def drained(self, worker: Worker, until: threading.Event) -> float:
        """The seconds from the first call to the end, with a second one as soon as the first is known."""
        working = threading.Thread(target=worker.run)
        working.start()
        assert until.wait(PATIENCE)
        begun_at = time.monotonic()
        worker.drain()
        time.sleep(0.3)
        worker.drain()
        working.join(PATIENCE)
        assert not working.is_alive()
        return time.monotonic() - begun_at

    def test_ends_the_wait_for_claims(self) -> None:
        pool, fleet = Pool("batch-etl"), Fleet(Monotonic())
        pool.handler("work")(lambda *_: None)
        asked, back = self.away(fleet, "claims")
        fleet.add("a")
        assert self.drained(worker_of(pool, fleet), asked) < 5
        back.set()

    def test_ends_the_wait_for_outcomes(self) -> None:
        pool, fleet, begun = Pool("batch-etl"), Fleet(Monotonic()), threading.Event()
        _, back = self.away(fleet, "outcomes")

        @pool.handler()
        def work(*_: Any) -> None:
            begun.set()
            back.wait(PATIENCE)

        fleet.add("a")
        assert self.drained(worker_of(pool, fleet), begun) < 5
        back.set()

    def test_leaves_a_moment_to_hand_back(self) -> None:
        pool, fleet, begun, gate = Pool("batch-etl"), Fleet(Monotonic()), threading.Event(), threading.Event()

        @pool.handler()
        def work(*_: Any) -> None:
            begun.set()
            gate.wait(PATIENCE)

        fleet.slow = lambda what: time.sleep(0.5) if what == "outcomes" else None
        one = fleet.add("a")
        self.drained(worker_of(pool, fleet), begun)
        gate.set()
        assert one.outcome is not None
        assert one.outcome["outcome"] == "handback"


def test_a_signal_within_the_handler_of_another_blocks_nothing() -> None:
    pool, fleet = Pool("batch-etl"), Fleet(Monotonic())
    pool.handler("work")(lambda *_: None)
    worker = worker_of(pool, fleet)
    shot = list[str]()

    def within(frame: FrameType, event: str, _: Any) -> None:
        """Send a signal from wherever the first one's handler has got to, or the drain that it asks for."""
        if event == "call" and frame.f_code.co_name in ("notify_all", "drain") and frame.f_code.co_name not in shot:
            shot.append(frame.f_code.co_name)
            signal.raise_signal(signal.SIGINT)

    threading.Timer(0.5, lambda: signal.raise_signal(signal.SIGTERM)).start()
    sys.setprofile(within)
    try:
        run_until_signalled(worker)
    finally:
        sys.setprofile(None)
    assert set(shot) == {"notify_all", "drain"}


def test_what_a_worker_raises_is_raised_where_it_was_started(monkeypatch: pytest.MonkeyPatch) -> None:
    pool, fleet = Pool("batch-etl"), Fleet(Monotonic())
    pool.handler("work")(lambda *_: None)
    worker = worker_of(pool, fleet)
    monkeypatch.setattr(worker, "run", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run_until_signalled(worker)
