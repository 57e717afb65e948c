"""The end of the process of `clockwork worker`: nothing keeps it for longer than a moment."""

from __future__ import annotations

import atexit
import io
import multiprocessing
import os
import sys
import threading
import time
from typing import NoReturn

import pytest

from clockwork_client.cli.worker import leave
from tests.sdk.fleet import PATIENCE


@pytest.fixture(autouse=True)
def _no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def ends(status: int) -> NoReturn:
        raise SystemExit(status)

    monkeypatch.setattr("clockwork_client.cli.worker._PATIENCE", 0.5)
    monkeypatch.setattr(os, "_exit", ends)
    monkeypatch.setattr(atexit, "_run_exitfuncs", lambda: None)


def status(asked: int) -> int:
    with pytest.raises(SystemExit) as ended:
        leave(asked)
    assert isinstance(ended.value.code, int)
    return ended.value.code


@pytest.mark.parametrize("asked", [0, 1])
def test_the_end_has_the_status_that_is_asked_for(asked: int) -> None:
    assert status(asked) == asked


def test_the_end_goes_on_without_an_exit_function_that_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()
    monkeypatch.setattr(atexit, "_run_exitfuncs", lambda: gate.wait(PATIENCE))
    begun_at = time.monotonic()
    assert status(0) == 0
    assert time.monotonic() - begun_at < 10
    gate.set()


@pytest.mark.parametrize("how", ["fails", "hangs"])
def test_the_end_says_by_its_status_that_the_output_was_not_written(monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    gate = threading.Event()

    class Output(io.StringIO):
        def flush(self) -> None:
            if how == "fails":
                raise BrokenPipeError
            gate.wait(PATIENCE)

    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", Output())
        assert status(0) == 1
        gate.set()


def test_the_end_ends_on_a_machine_without_a_thread_more(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuses)
    assert status(0) == 1


def test_the_end_kills_the_other_children_if_one_cannot_be_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    killed = list[str]()

    class Child:
        def __init__(self, error: Exception | None) -> None:
            self.error = error

        def kill(self) -> None:
            if self.error:
                raise self.error
            killed.append("killed")

    children = [Child(PermissionError()), Child(ValueError("closed")), Child(None)]
    monkeypatch.setattr(multiprocessing, "active_children", lambda: children)
    assert status(0) == 0
    assert "killed" in killed
