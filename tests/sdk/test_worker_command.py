"""`clockwork worker module:pool`: which pool it finds, and a process that is told to end."""

from __future__ import annotations

import logging
import signal
import threading
import time
from pathlib import Path
from typing import Any

import click
import pytest

from clockwork_client.cli.worker import found
from clockwork_client.worker import Pool
from clockwork_client.worker.clock import Monotonic
from clockwork_client.worker.signals import _show_life, run_until_signalled
from tests.sdk.fleet import PATIENCE, Fleet
from tests.sdk.workshop import worker_of


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_a_pool_is_found_in_the_folder_that_one_is_in(folder: Path) -> None:
    (folder / "my_jobs.py").write_text("from clockwork_client.worker import Pool\nfleet = Pool('batch-etl')\n")
    assert found("my_jobs:fleet").name == "batch-etl"


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("my_jobs", "is no MODULE:POOL"),
        (":pool", "is no MODULE:POOL"),
        ("no_such_jobs:pool", "there is no module no_such_jobs"),
        ("other_jobs:pool", "is no Pool"),
        ("other_jobs:missing", "the module other_jobs has no missing"),
    ],
)
def test_what_is_no_pool_is_said(folder: Path, where: str, said: str) -> None:
    (folder / "other_jobs.py").write_text("pool = 'batch-etl'\n")
    with pytest.raises(click.UsageError, match=said):
        found(where)


@pytest.mark.parametrize("error", ["ValueError", "AttributeError", "ImportError"])
def test_what_a_module_raises_while_it_is_loaded_is_not_hidden(folder: Path, error: str) -> None:
    (folder / f"faulty_{error}.py").write_text(f"raise {error}('the reason')\n")
    with pytest.raises(Exception, match="the reason") as raised:
        found(f"faulty_{error}:pool")
    assert type(raised.value).__name__ == error


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_drains_and_a_second_one_hands_back_now(how: signal.Signals, tmp_path: Path) -> None:
    pool, fleet, begun, gate = Pool("batch-etl"), Fleet(Monotonic()), threading.Event(), threading.Event()

    @pool.handler()
    def work(*_: Any) -> None:
        begun.set()
        gate.wait(PATIENCE)

    work_ = fleet.add("a")
    worker = worker_of(pool, fleet, drain=10_000.0)

    def kill() -> None:
        assert begun.wait(PATIENCE)
        signal.raise_signal(how)
        assert worker._receiving._is_over.wait(PATIENCE)
        time.sleep(0.1)
        assert work_.outcome is None
        signal.raise_signal(how)

    killing = threading.Thread(target=kill)
    killing.start()
    before = signal.getsignal(how)
    run_until_signalled(worker, tmp_path / "alive")
    killing.join(PATIENCE)
    gate.set()
    assert work_.outcome is not None
    assert work_.outcome["outcome"] == "handback"
    assert signal.getsignal(how) is before


def test_an_alive_file_that_cannot_be_touched_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pool, ended, faults = Pool("batch-etl"), threading.Event(), [OSError("disk full"), OSError("disk full")]
    pool.handler("work")(lambda *_: None)
    alive, touch = tmp_path / "alive", Path.touch

    def may_fail(path: Path) -> None:
        if faults:
            raise faults.pop()
        touch(path)
        ended.set()

    monkeypatch.setattr("clockwork_client.worker.signals._EVERY", 0.01)
    monkeypatch.setattr(Path, "touch", may_fail)
    caplog.set_level(logging.WARNING)
    _show_life(worker_of(pool, Fleet(Monotonic())), alive, ended)
    assert alive.exists()
    assert [one.getMessage() for one in caplog.records] == [
        f"{alive} cannot be touched, which is tried again: disk full"
    ]
