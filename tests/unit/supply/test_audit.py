"""The audit: a finding fails it, and a package that nobody answered for is never taken for a sound one."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence

import pytest

from supply.audit import audit, main, npm_verdict, python_verdict
from supply.locks import LOCKS, npm_packages, python_packages

VENDOR = LOCKS["layer vendor"]
SOUND = {"name": "six", "version": "1.17.0", "vulns": []}
BAD = {"name": "urllib3", "version": "2.8.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2.9.0"], "aliases": []}]}
SKIPPED = {"name": "msgspec", "skip_reason": "Dependency not found on PyPI and could not be audited: msgspec (0.22.0)"}
NPM_SOUND = {"auditReportVersion": 2, "vulnerabilities": {}, "metadata": {}}
NPM_BAD = {"vulnerabilities": {"ws": {"severity": "high", "range": "<8.24.0"}}}
#: As npm 10 prints it where the registry does not answer for advisories.
NPM_SILENT = {"message": "405 Method Not Allowed", "method": "POST", "error": {"summary": "", "detail": ""}}


class Auditors:
    """Both programs, which print what they are told to; `asked` are the commands."""

    def __init__(self, python: object, npm: object, stderr: str = "") -> None:
        self._said = {"pip-audit": python, "npm": npm}
        self._stderr = stderr
        self.asked: list[Sequence[str]] = []

    def __call__(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        self.asked.append(command)
        said = self._said[command[0].rpartition("/")[2]]
        text = said if isinstance(said, str) else json.dumps(said)
        return subprocess.CompletedProcess(command, 1, text, self._stderr)


def answered(*packages: object) -> dict[str, object]:
    return {"dependencies": packages, "fixes": []}


def test_where_all_are_sound_nothing_is_left_open(capsys: pytest.CaptureFixture[str]) -> None:
    auditors = Auditors(answered(SOUND), NPM_SOUND)
    assert main(auditors) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "0 advisories; all were audited"
    assert len(auditors.asked) == len(LOCKS) + 1


def test_an_advisory_about_a_package_of_python_fails_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(Auditors(answered(SOUND, BAD), NPM_SOUND)) == 1
    assert "urllib3 2.8.0: PYSEC-1, mended in 2.9.0" in capsys.readouterr().out


def test_an_advisory_about_a_package_of_npm_fails_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(Auditors(answered(SOUND), NPM_BAD)) == 1
    assert "ws <8.24.0: high" in capsys.readouterr().out


def test_a_package_that_pip_audit_skips_is_not_audited() -> None:
    verdict = python_verdict(VENDOR, Auditors(answered(SOUND, SKIPPED), NPM_SOUND))
    assert (verdict.audited, verdict.missed, verdict.found) == (1, 1, ())
    assert "1 NOT AUDITED (Dependency not found" in str(verdict)


@pytest.mark.parametrize("said", ["", "no JSON", "[]", {"message": "it failed"}])
def test_an_auditor_without_an_answer_audits_nothing(said: object) -> None:
    auditors = Auditors(said, said, "Traceback\nConnectionError: no route to host\n")
    python, npm = python_verdict(VENDOR, auditors), npm_verdict(auditors)
    assert (python.audited, python.missed) == (0, len(python_packages(VENDOR)))
    assert (npm.audited, npm.missed) == (0, len(npm_packages()))
    assert python.why == "ConnectionError: no route to host"


def test_where_no_service_answers_it_passes_and_says_that_nothing_was_audited(
    capsys: pytest.CaptureFixture[str],
) -> None:
    auditors = Auditors(answered(SKIPPED), NPM_SILENT)
    assert main(auditors) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[-1].endswith("packages NOT AUDITED")
    assert "package-lock.json: 0 audited, 0 with an advisory" in out
    assert "405 Method Not Allowed" in out
    # One lock in vain is enough: a service that answers for none of its packages is not asked about hundreds more.
    assert [command[0].rpartition("/")[2] for command in auditors.asked] == ["pip-audit", "npm"]


def test_every_lock_has_its_verdict() -> None:
    locks = [verdict.lock for verdict in audit(Auditors("", ""))]
    assert locks[0] == "layers/vendor/requirements.lock"
    assert locks[-1] == "package-lock.json"
    assert len(locks) == len(LOCKS) + 1
