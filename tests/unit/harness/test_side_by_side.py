"""Runs of pytest side by side: every line that a run prints is passed on, and no run fails unnoticed."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from infra import ROOT
from tests.support.side_by_side import run_all

#: The command of a run of pytest without this project's configuration.
ALONE = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir")
MEETS = """
import pathlib, time
def test_of_it():
    pathlib.Path({mine!r}).touch()
    while not pathlib.Path({other!r}).exists():
        time.sleep(0.01)
"""
LASTS = """
import os, pathlib, time
def test_of_it():
    pathlib.Path({file!r}).write_text(str(os.getpid()))
    time.sleep(60)
"""


@pytest.fixture(autouse=True)
def _no_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Load no plugins of pytest: that would take seconds. Its summary is the same with and without `CI`."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("BUILD_NUMBER", raising=False)


def suite(folder: Path, name: str, source: str) -> list[str]:
    """The command that runs one test."""
    file = folder / f"test_{name}.py"
    file.write_text(source)
    return [*ALONE, str(folder), str(file)]


def told(capfd: pytest.CaptureFixture[str]) -> list[str]:
    """The printed lines. The seconds of CPU are whole numbers, which differ from run to run: they stand as N."""
    return re.sub(r", \d+ s of CPU$", ", N s of CPU", capfd.readouterr().out, flags=re.MULTILINE).splitlines()


@pytest.mark.long
def test_the_last_lines_are_those_of_each_run_and_the_status_is_that_of_the_one_that_failed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    passes = suite(tmp_path, "passes", "def test_of_it(): pass")
    fails = suite(tmp_path, "fails", "def test_of_it(): assert 'this' == 'that'")
    assert run_all({"good": passes, "worse": fails, "none": [*passes, "-k", "nothing"]}) == 1
    said = told(capfd)
    assert any(line.startswith("worse | FAILED ") for line in said)
    ends = said.index("good: exit status 0, N s of CPU")
    assert said[ends + 1 : ends + 3] == ["worse: exit status 1, N s of CPU", "none: exit status 5, N s of CPU"]
    good, *worse, none = said[ends + 3 :]
    assert good.startswith("1 passed in ")
    assert none.startswith("1 deselected in ")
    assert len(worse) <= 16
    assert worse[-2].startswith("FAILED ")
    assert any("AssertionError: assert 'this' == 'that'" in line for line in worse)
    assert worse[-1].startswith("1 failed in ")


@pytest.mark.long
def test_a_failed_test_is_named_at_the_end_also_if_the_summary_tells_its_message_at_length(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where `CI` is set, pytest repeats the whole message of a failed assertion in its summary."""
    monkeypatch.setenv("CI", "true")
    fails = suite(tmp_path, "fails", "def test_of_it(): assert list(range(40)) == []")
    assert run_all({"only": fails}) == 1
    said = told(capfd)
    named, *last = said[said.index("only: exit status 1, N s of CPU") + 1 :]
    assert named.startswith("FAILED ")
    assert named.partition(" - ")[0].endswith("test_fails.py::test_of_it")
    assert len(last) == 16
    assert last[-1].startswith("1 failed in ")


@pytest.mark.long
def test_runs_that_pass_are_at_work_at_the_same_time(tmp_path: Path) -> None:
    one, two = str(tmp_path / "one"), str(tmp_path / "two")
    runs = {"one": MEETS.format(mine=one, other=two), "two": MEETS.format(mine=two, other=one)}
    assert run_all({name: suite(tmp_path, name, source) for name, source in runs.items()}) == 0


def test_when_it_is_told_to_end_its_runs_end(tmp_path: Path) -> None:
    file = tmp_path / "process-id"
    lasts = shlex.join(suite(tmp_path, "lasts", LASTS.format(file=str(file))))
    command = [sys.executable, "-m", "tests.support.side_by_side", f"long={lasts}"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 20
        while not (file.exists() and file.read_text()):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 128 + signal.SIGTERM
    with pytest.raises(ProcessLookupError):
        os.kill(int(file.read_text()), 0)
