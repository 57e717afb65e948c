"""`python -m tests.architecture.commits BASE[..HEAD]` or `--message FILE`: the faults in messages of commits.

With `--message` the run is the commit-msg hook. The status is 1 if there is a fault.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

from tests.architecture.sources import ROOT

#: The most characters of a subject.
MOST_CHARACTERS = 72
_SUBJECT = re.compile(r"[a-z][a-z0-9 /-]*: (?P<first>\S+)(?: .*)?")
#: Git writes these subjects by itself.
_BY_GIT = re.compile(r"(Merge|Revert|fixup!|squash!|amend!) ")
#: First words that are no imperative: the third person, a past form, an article, a gerund.
_NO_IMPERATIVE = re.compile(r"(?:a|an|the|[a-z]+(?:ed|ing)|(?!pass\b|access\b|bypass\b|address\b|process\b)[a-z]+s)")


def faults_of(message: str) -> list[str]:
    """All faults of one message."""
    subject, *rest = [line for line in message.splitlines() if not line.startswith("#")] or [""]
    if _BY_GIT.match(subject):
        return []
    faults = []
    if len(subject) > MOST_CHARACTERS:
        faults.append(f"the subject has {len(subject)} characters, at most {MOST_CHARACTERS}")
    found = _SUBJECT.fullmatch(subject)
    if found is None:
        faults.append("the subject is not `area: imperative`")
    elif _NO_IMPERATIVE.fullmatch(found["first"]):
        faults.append(f"the subject says what to do, as an imperative: not {found['first']!r}")
    if subject.endswith("."):
        faults.append("the subject ends with a period")
    if rest and rest[0].strip():
        faults.append("the second line is not empty")
    return faults


def messages(commits: str) -> list[tuple[str, str]]:
    """(short id, message) of each commit of a range, the oldest first."""
    reach = commits if ".." in commits else f"{commits}..HEAD"
    command = ["git", "-C", str(ROOT), "log", "--reverse", "--no-merges", "--format=%h%x00%B%x01", reach]
    log = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    entries = [entry.strip("\n").split("\0") for entry in log.split("\x01") if entry.strip()]
    return [(commit, message) for commit, message in entries]


def main(arguments: list[str]) -> int:
    """Prints the faults of a message, or of each commit of a range. Answers the status of the process."""
    parser = argparse.ArgumentParser(prog="python -m tests.architecture.commits", description=__doc__)
    chosen = parser.add_mutually_exclusive_group(required=True)
    chosen.add_argument("commits", nargs="?", help="a range of commits, or the commit before the first one")
    chosen.add_argument("--message", type=Path, help="the file that holds one message")
    options = parser.parse_args(arguments)
    judged = (
        [("message", options.message.read_text(encoding="utf-8"))] if options.message else messages(options.commits)
    )
    faults = [
        f"{commit}: {fault}: {text.partition(chr(10))[0]}" for commit, text in judged for fault in faults_of(text)
    ]
    for fault in faults:
        print(fault)
    print(f"{len(judged)} messages, {len(faults)} faults", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
