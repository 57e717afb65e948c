"""The command `python -m clockwork.domain.cron`: its text for people and its JSON for programs."""

import json
import subprocess
import sys

import pytest

from clockwork.domain.cron.__main__ import main


def run(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "clockwork.domain.cron", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, check=False, timeout=30)


def test_fires_are_printed_in_utc_and_on_the_clock_of_the_zone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["30 2 * * *", "--tz", "America/New_York", "--from", "2026-03-07T00:00:00-05:00", "--count", "2"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "At 02:30, every day.",
        "2026-03-07T07:30:00Z  2026-03-07T02:30:00-05:00",
        "2026-03-08T07:00:00Z  2026-03-08T03:00:00-04:00",
    ]


def test_json_carries_the_same_and_the_options_apply(capsys: pytest.CaptureFixture[str]) -> None:
    zone = ["--tz", "America/New_York", "--count", "1", "--json"]
    main(["30 2 * * *", *zone, "--from", "2026-03-08", "--dst-gap", "skip"])
    assert json.loads(capsys.readouterr().out)["nextFires"] == [
        {"at": "2026-03-09T06:30:00Z", "local": "2026-03-09T02:30:00-04:00"}
    ]
    main(["30 1 * * *", *zone, "--from", "2026-11-01", "--dst-overlap", "second"])
    assert json.loads(capsys.readouterr().out)["nextFires"][0]["local"] == "2026-11-01T01:30:00-05:00"
    main(["0 0 13 * FRI", *zone, "--from", "2026-01-01", "--day-match", "and"])
    assert json.loads(capsys.readouterr().out)["nextFires"][0]["local"] == "2026-02-13T00:00:00-05:00"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["0 25 * * *", "--from", "2026-01-01"], "hour 25 is out of 0-23 (column 3)"),
        (["* * * * *", "--from", "2026-01-01", "--tz", "Mars/Base"], "unknown time zone 'Mars/Base'"),
        (["* * * * *", "--from", "tomorrow"], "--from 'tomorrow' is not an ISO 8601 instant"),
        (["* * * * *", "--from", "2026-01-01", "--count", "0"], "argument --count"),
        (["* * * * *"], "an expression and --from are needed"),
        (["* * * * *", "--batch"], "leave the expression out"),
    ],
)
def test_bad_input_is_named_and_exits_2(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


def test_a_batch_answers_every_line_and_both_bounds_are_exclusive() -> None:
    lines = [
        {"expr": "0 * * * *", "tz": "UTC", "from": 3600, "until": 14400},
        {"expr": "0 * * * *", "tz": "UTC", "from": 3599, "until": 7201},
        {"expr": "0 0 30 2 *", "tz": "UTC", "from": 0, "until": 1},
        {"expr": "0 * * * *", "tz": "Nowhere", "from": 0, "until": 1},
        {"expr": "0 * * * *", "tz": "UTC", "from": 0},
        "not an object",
    ]
    done = run("--batch", stdin="\n".join(map(json.dumps, lines)).encode() + b"\n\n\xff{\n")
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0
    assert answers[:2] == [[7200, 10800], [3600, 7200]]
    assert "never fires" in answers[2]["error"]
    assert "unknown time zone" in answers[3]["error"]
    assert all(set(answer) == {"error"} for answer in answers[2:])
    assert len(answers) == 7


def test_help_explains_itself() -> None:
    done = run("--help")
    assert done.returncode == 0
    assert all(word in done.stdout for word in (b"--batch", b"--dst-gap", b"examples:", b"exit codes:"))
