"""One mutant on trial: a copy of the package with an edit, loaded by processes of its own in its place."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import clockwork

PACKAGE = Path(next(iter(clockwork.__path__)))
ROOT = Path(__file__).parents[3]
TIMEOUT_SECONDS = 240


@dataclass(frozen=True)
class Mutant:
    """An edit of the shipped sources: in each file, texts that occur exactly once and what stands there instead."""

    name: str
    file: str
    edits: tuple[tuple[str, str], ...]


class Rotten(Exception):
    """A mutant whose line is no longer in the sources."""


@contextmanager
def broken(mutant: Mutant) -> Iterator[Path]:
    """A copy of the package's parent directory with the mutant's edit in it. Raises Rotten."""
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place, "clockwork")
        shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
        file = copy / mutant.file
        text = file.read_text()
        for before, after in mutant.edits:
            if text.count(before) != 1:
                raise Rotten(f"{mutant.name}: {before!r} is {text.count(before)} times in {mutant.file}")
            text = text.replace(before, after)
        file.write_text(text)
        yield Path(place)


def simulator_notices(place: Path, seeds: int) -> str | None:
    """What the simulator says of the package in `place`, or None if it finds nothing."""
    command = ["-m", "tests.simulation", "--until-violation", "--no-coverage", "--jobs", "1", "--seeds", str(seeds)]
    return _said_by(place, command)


def unit_tests_notice(place: Path) -> str | None:
    """The first unit test that fails on the package in `place`, or None."""
    return _said_by(place, ["-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--no-header", "tests/unit"])


def _said_by(place: Path, command: list[str]) -> str | None:
    environment = {**os.environ, "PYTHONPATH": f"{place}{os.pathsep}{ROOT}", "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            [sys.executable, *command],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"it does not end within {TIMEOUT_SECONDS} s"
    if done.returncode == 0:
        return None
    told = [line for line in done.stdout.splitlines() if line.startswith(("seed ", "FAILED", "ERROR"))]
    return (told or done.stderr.splitlines()[-1:] or ["?"])[0][:200]
