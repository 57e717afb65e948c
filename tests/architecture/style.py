"""`python -m tests.architecture.style [PATHS]`: the faults of style in pages and docstrings, and words of comments.

Without paths the run takes every page and Python file of the project. Each fault is one line: path:line, rule,
sentence. The status is 1 if there is a fault.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.architecture.prose import Sentence, sentences_and_asides
from tests.architecture.sources import ROOT

#: The most words of a sentence, and the most on average in a file.
MOST_WORDS, MOST_ON_AVERAGE = 32, 20
#: An average of fewer sentences says nothing.
ENOUGH_FOR_AN_AVERAGE = 5
#: No sentence begins with these words. A question may, and so may a label (`Who:`).
_NO_SUBJECT = re.compile(r"""["'(\[*]*(What|Who|Whoever|So|One that)\b(?!['-]|:)""")
_TABLE_OF_WORDS = "| private | the field's term |"


class Fault(NamedTuple):
    """One fault of style. The text of it is the line that a run prints."""

    path: Path
    line: int
    rule: str
    sentence: str

    def __str__(self) -> str:
        path = self.path.relative_to(ROOT) if self.path.is_relative_to(ROOT) else self.path
        return f"{path}:{self.line}: {self.rule}: {self.sentence}"


@cache
def _private_word() -> re.Pattern[str]:
    words = "|".join(re.escape(word) for word in private_words())
    return re.compile(rf"(?<![\w-])({words})(?![\w-])", re.IGNORECASE)


@cache
def private_words() -> dict[str, str]:
    """By private word or phrase the field's term, from the table in CONTRIBUTING.md."""
    rows = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition(_TABLE_OF_WORDS)[2].split("\n\n")[0]
    pairs = [line.strip("| ").split(" | ") for line in rows.splitlines()[2:]]
    return {word.strip(): term.strip() for words, term in pairs for word in words.split(",")}


def faults_of(path: Path) -> list[Fault]:
    """The faults of one file. CONTRIBUTING.md may name private words, since that page lists them."""
    found, asides = sentences_and_asides(path)
    faults = [fault for one in found for fault in _faults(one)]
    if path != ROOT / "CONTRIBUTING.md":
        faults += [fault for one in (*found, *asides) for fault in _private(one)]
    prose = [one.words for one in found if not one.is_cell]
    if len(prose) >= ENOUGH_FOR_AN_AVERAGE and sum(prose) > MOST_ON_AVERAGE * len(prose):
        average = sum(prose) / len(prose)
        faults.append(Fault(path, 1, f"at most {MOST_ON_AVERAGE} words on average", f"{average:.1f} here"))
    return faults


def _faults(one: Sentence) -> Iterator[Fault]:
    beginning = _NO_SUBJECT.match(one.text)
    if beginning is not None and not one.text.endswith("?"):
        yield Fault(one.path, one.line, f"begins with {beginning[1]}", one.text)
    if one.words > MOST_WORDS:
        yield Fault(one.path, one.line, f"{one.words} words, at most {MOST_WORDS}", one.text)


def _private(one: Sentence) -> Iterator[Fault]:
    for word in dict.fromkeys(map(str.lower, _private_word().findall(one.text))):
        yield Fault(one.path, one.line, f'"{word}": say {private_words()[word]}', one.text)


def everything() -> list[Path]:
    """Each page and Python file of the project, also a new one, unless git ignores it."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", "*.md", "*.py"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return sorted({ROOT / name for name in listed if (ROOT / name).exists()})


def expanded(patterns: Iterable[str]) -> list[Path]:
    """The pages and Python files that patterns, files and folders name. Raises ValueError for a pattern of none."""
    wanted: set[Path] = set()
    for pattern in patterns:
        files = _files(pattern)
        if not files:
            raise ValueError(f"{pattern} names no page and no Python file")
        wanted |= files
    return sorted(wanted)


def _files(pattern: str) -> set[Path]:
    named = [ROOT / pattern] if (ROOT / pattern).exists() else list(ROOT.glob(pattern))
    inside = [file for one in named for file in ([one] if one.is_file() else one.rglob("*"))]
    return {file for file in inside if file.suffix in (".md", ".py")}


def main(arguments: list[str]) -> int:
    """Prints the faults of the named files, or of all. Answers the status of the process."""
    parser = argparse.ArgumentParser(prog="python -m tests.architecture.style", description=__doc__)
    parser.add_argument("paths", nargs="*", help="files, folders or patterns below the project")
    chosen = parser.parse_args(arguments).paths
    faults = [fault for path in (expanded(chosen) if chosen else everything()) for fault in faults_of(path)]
    for fault in faults:
        print(fault)
    print(f"{len(faults)} faults", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
