"""Processes of a system: what they use is seen with that of their children, and nothing of them is left."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.rivals.running.children import GUARD, Child, ChildFailed, kill
from bench.rivals.running.usage import cpu_seconds, memory_bytes, tree

_SLEEPS = "import time; time.sleep(60)"
_PARENT = f"import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', '{_SLEEPS}']); print(1, flush=True)"


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def await_true(what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not what() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert what()


def test_a_child_answers_line_by_line(tmp_path: Path) -> None:
    child = Child(python("import sys\nfor line in sys.stdin: print(line.strip() * 1, flush=True)"), tmp_path / "log")
    try:
        assert child.ask({"a": 1}, 30) == {"a": 1}
        assert child.ask([2], 30) == [2]
    finally:
        child.stop()
    assert tree([child.pid]) == []


def test_a_child_that_ends_or_is_silent_says_what_it_logged(tmp_path: Path) -> None:
    ended = Child(python("raise SystemExit('no room')"), tmp_path / "ended")
    with pytest.raises(ChildFailed, match=r"it ended with 1\. no room"):
        ended.answer()
    ended.stop()
    silent = Child(python(_SLEEPS), tmp_path / "silent")
    with pytest.raises(ChildFailed, match="no answer within 0 s"):
        silent.answer(0.1)
    silent.stop()
    assert tree([silent.pid]) == []


def test_what_a_child_has_started_ends_with_it(tmp_path: Path) -> None:
    child = Child(python(f"{_PARENT}; time.sleep(60)"), tmp_path / "log")
    child.answer()
    both = tree([child.pid])
    assert len(both) == 2
    assert memory_bytes(both) > memory_bytes([child.pid]) > 1_000_000
    child.stop()
    await_true(lambda: not any(tree([pid]) for pid in both))


def test_cpu_of_grandchildren_that_have_ended_counts(tmp_path: Path) -> None:
    burns = "import time\\nwhile time.process_time() < 0.3: pass"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', '{burns}']); print(1, flush=True); input()"
    child = Child(python(code), tmp_path / "log")
    child.answer()
    assert cpu_seconds(tree([child.pid])) >= 0.3
    child.stop()


def test_a_server_ends_with_its_guards_standard_input_and_a_guard_with_its_server(tmp_path: Path) -> None:
    guard = Child([*GUARD, *python(_SLEEPS)], tmp_path / "log")
    server = guard.answer()["pid"]
    assert server != guard.pid
    guard.stop()
    await_true(lambda: not tree([server]))
    guard = Child([*GUARD, *python(_SLEEPS)], tmp_path / "log")
    kill([guard.answer()["pid"]])
    with pytest.raises(ChildFailed, match="it ended with"):
        guard.answer()
    guard.stop()
