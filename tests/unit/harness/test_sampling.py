"""Which cases of a test run by day, by night, and before a commit."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from infra import ROOT

PROGRAM = """
import pytest

@pytest.mark.sampled(3)
@pytest.mark.parametrize("number", range(7))
def test_sampled(number): pass

@pytest.mark.parametrize("number", range(4))
def test_whole(number): pass

def test_alone(): pass
"""
ALONE, WHOLE = ["test_alone"], [f"test_whole[{number}]" for number in range(4)]


@pytest.mark.long
@pytest.mark.parametrize(
    ("options", "sampled", "others"),
    [
        ([], range(7), [*WHOLE, *ALONE]),
        (["-m", "not nightly"], (0, 3, 6), [*WHOLE, *ALONE]),
        (["-m", "nightly"], (1, 2, 4, 5), []),
        (["-m", "not nightly", "--few", "2"], (0,), [*WHOLE[:2], *ALONE]),
        (["--few", "9"], range(7), [*WHOLE, *ALONE]),
    ],
)
def test_these_cases_run(tmp_path: Path, options: list[str], sampled: Sequence[int], others: list[str]) -> None:
    (tmp_path / "test_cases.py").write_text(PROGRAM, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-c", "/dev/null", "--rootdir", str(tmp_path), "--collect-only", "-q"]
    for plugin in ("tests.support.sampling", "no:schemathesis", "no:hypothesispytest", "no:cacheprovider"):
        command += ["-p", plugin]
    told = subprocess.run([*command, *options, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=True)
    collected = [line.partition("::")[2] for line in told.stdout.splitlines() if "::" in line]
    assert collected == [*(f"test_sampled[{number}]" for number in sampled), *others], told.stdout
