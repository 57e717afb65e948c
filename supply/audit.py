"""Asks the advisory services about every locked package: pip-audit for Python's, `npm audit` for npm's.

    python -m supply.audit

Exit status 1 tells that an advisory names a locked package, or that an auditor cannot run. Where a service gives no
answer, the packages count as not audited: this is printed for each lock and again in the last line. It is no failure,
since a machine without that service could never pass. Then pip-audit calls a package `skipped` and succeeds, so its
answers are counted here.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from supply import ROOT
from supply.locks import LOCKS, NPM_LOCK

#: `make audit` installs it.
PIP_AUDIT = ROOT / ".venv-supply/bin/pip-audit"
#: A service that does not answer within so many seconds counts as out of reach.
ANSWER_SECONDS = 15
RUN_SECONDS = 600

Run = Callable[[Sequence[str]], "subprocess.CompletedProcess[str]"]


@dataclass(frozen=True)
class Verdict:
    """The result for the packages of one lock: `audited` were answered for, `missed` were not, `found` are bad."""

    lock: str
    audited: int
    missed: int
    found: tuple[str, ...] = ()
    why: str = ""

    def __str__(self) -> str:
        told = [f"{self.lock}: {self.audited} audited, {len(self.found)} with an advisory"]
        told += [f"{self.missed} NOT AUDITED ({self.why})"] if self.missed else []
        return "\n".join([", ".join(told), *(f"  {one}" for one in self.found)])


def audit(run: Run) -> Iterator[Verdict]:
    """A verdict for each lock, as they come. One silent lock of Python's packages ends the questions about the others.

    Raises AuditorFailed.
    """
    silent = ""
    for lock in LOCKS.values():
        verdict = Verdict(_shown(lock), 0, _packages(lock), why=silent) if silent else python_verdict(lock, run)
        silent = verdict.why if not verdict.audited else ""
        yield verdict
    yield npm_verdict(run)


def python_verdict(lock: Path, run: Run) -> Verdict:
    """The verdict of pip-audit about a lock."""
    options = ("--disable-pip", "--require-hashes", "--format=json", "--progress-spinner=off")
    ended = run([str(PIP_AUDIT), *options, f"--timeout={ANSWER_SECONDS}", f"--requirement={lock}"])
    answer = _json(ended.stdout)
    if "dependencies" not in answer:
        return Verdict(_shown(lock), 0, _packages(lock), why=_last_line(ended.stderr))
    told = answer["dependencies"]
    skipped = [one["skip_reason"] for one in told if "skip_reason" in one]
    found = tuple(
        f"{one['name']} {one['version']}: {fault['id']}, mended in {', '.join(fault['fix_versions']) or 'no version'}"
        for one in told
        for fault in one.get("vulns", ())
    )
    return Verdict(_shown(lock), len(told) - len(skipped), len(skipped), found, next(iter(skipped), ""))


def npm_verdict(run: Run) -> Verdict:
    """The verdict of `npm audit` about npm's lock."""
    ended = run(["npm", "audit", "--package-lock-only", "--json", "--fetch-retries=0"])
    answer, count = _json(ended.stdout), len(json.loads(NPM_LOCK.read_text())["packages"]) - 1
    if "vulnerabilities" not in answer:
        return Verdict(NPM_LOCK.name, 0, count, why=answer.get("message") or _last_line(ended.stderr))
    found = tuple(f"{name} {one['range']}: {one['severity']}" for name, one in answer["vulnerabilities"].items())
    return Verdict(NPM_LOCK.name, count, 0, found)


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=RUN_SECONDS)


def _json(text: str) -> dict[str, Any]:
    """The object that a program printed; empty if it printed none."""
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _packages(lock: Path) -> int:
    return sum("==" in line for line in lock.read_text().splitlines())


def _shown(lock: Path) -> str:
    return str(lock.relative_to(ROOT))


def _last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "it printed nothing")


def main(run: Run = _run) -> int:
    """The command line; returns the exit status."""
    verdicts = []
    for verdict in audit(run):
        print(verdict, flush=True)
        verdicts.append(verdict)
    found, missed = sum(len(one.found) for one in verdicts), sum(one.missed for one in verdicts)
    print(f"{found} advisories; {missed} packages NOT AUDITED" if missed else f"{found} advisories; all were audited")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
