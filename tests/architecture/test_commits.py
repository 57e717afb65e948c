"""The messages of commits: the subject is `area: imperative`, at most 72 characters."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.architecture import commits


@pytest.mark.parametrize(
    "message",
    [
        "poll: release rows in the order of their keys",
        "docs: process each page once\n\nThe story.\n# Please enter the commit message\n",
        "bench/cpu: " + "a" * 61,
        "Merge branch 'words'",
        'Revert "Poll: released"',
        "fixup! poll: release rows",
    ],
)
def test_a_good_message_has_no_faults(message: str) -> None:
    assert commits.faults_of(message) == []


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        ("Poll: release rows", "the subject is not `area: imperative`"),
        ("release rows", "the subject is not `area: imperative`"),
        ("", "the subject is not `area: imperative`"),
        ("poll: ", "the subject is not `area: imperative`"),
        ("poll: released rows", "the subject says what to do, as an imperative: not 'released'"),
        ("poll: releases rows", "the subject says what to do, as an imperative: not 'releases'"),
        ("poll: the rows are released", "the subject says what to do, as an imperative: not 'the'"),
        ("poll: release rows.", "the subject ends with a period"),
        ("poll: release rows\nThe story", "the second line is not empty"),
        ("bench/cpu: " + "a" * 62, "the subject has 73 characters, at most 72"),
    ],
)
def test_a_bad_message_is_told_its_fault(message: str, fault: str) -> None:
    assert commits.faults_of(message) == [fault]


def test_the_hook_reads_one_message(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "message").write_text("poll: release rows\n")
    assert commits.main(["--message", str(tmp_path / "message")]) == 0
    (tmp_path / "message").write_text("rows\n")
    assert commits.main(["--message", str(tmp_path / "message")]) == 1
    assert capsys.readouterr().out == "message: the subject is not `area: imperative`: rows\n"


def test_a_range_of_commits_is_judged(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    log = "abc1\0poll: release rows\n\nStory\n\x01\nabc2\0Rows\n\x01\n"
    asked: list[str] = []

    class Ran:
        stdout = log

    def run(command: list[str], **options: object) -> Ran:
        asked.extend(command)
        return Ran()

    monkeypatch.setattr(subprocess, "run", run)
    assert commits.main(["main"]) == 1
    assert asked[-1] == "main..HEAD"
    assert capsys.readouterr() == ("abc2: the subject is not `area: imperative`: Rows\n", "2 messages, 1 faults\n")
