"""One job and one execution, whole: each field that an answer has, and how far an attempt is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clockwork_client.cli.shown_execution import progress
from clockwork_client.cli.shown_job import retries
from clockwork_client.reports import AtWork
from clockwork_client.results import RetryPolicy
from clockwork_client.transport import Request, Response
from tests.handlers.handlers import Api
from tests.sdk.terminal import EXECUTION, HOOK, JOB, Cli, with_dead

AT = "2027-01-31T09:00:00.000Z"
AT_WORK = {
    "attempt": 2, "leaseUntil": AT, "deadlineAt": "2027-01-31T10:00:00.000Z", "progress": 0.42, "pool": "etl",
    "message": "page 12 of 30", "workerId": "worker-7", "cancelRequested": True,
}  # fmt: skip


@pytest.fixture
def cli() -> Cli:
    return Cli(Api())


def lines(cli: Cli, *command: str) -> dict[str, str]:
    """The names and values that a command prints; of names that stand twice both values."""
    found: dict[str, str] = {}
    for line in cli(*command).stdout.splitlines():
        name, _, value = line.partition("  ")
        found[name] = f"{found[name]}; {value.strip()}" if name in found else value.strip()
    return found


def test_an_execution_at_work_tells_how_far_it_is_who_does_it_and_until_when(cli: Cli) -> None:
    execution = {
        "executionId": EXECUTION, "jobId": JOB, "jobKey": "report", "dueAt": AT, "state": "RUNNING", "atWork": AT_WORK,
        "nextAttemptAt": AT, "waited": {"cap": 90_000, "pause": 0},
        "attempts": [{"number": 1, "state": "FAILED", "startedAt": AT, "endedAt": "2027-01-31T09:00:03.200Z",
                      "latenessMs": 12, "statusCode": 503, "error": "HTTP 503"}],
    }  # fmt: skip

    def answer(request: Request) -> Response:
        job = {"jobId": JOB, "clientId": "acme", "state": "ACTIVE", "payload": {"month": "2027-01"}}
        return Response(200, {}, json.dumps(execution if "/executions/" in request.url else job).encode())

    cli.transport = answer
    told = lines(cli, "exec", "get", EXECUTION)
    assert told["job"] == "report"
    assert told["progress"] == "[########------------] 42%  page 12 of 30"
    assert told["worker"] == "worker-7 of etl, at attempt 2, which is asked to cancel"
    assert {"lease until", "deadline", "next retry"} <= told.keys()
    assert told["has waited"] == "2 min for cap"
    assert told["payload"] == '{"month": "2027-01"}'
    assert "12 ms" in cli("exec", "get", EXECUTION).stdout and "3.2 s" in cli("exec", "get", EXECUTION).stdout
    assert json.loads(cli("exec", "get", EXECUTION, "--json").stdout) == execution


def test_an_execution_whose_job_is_forgotten_is_shown_without_its_payload(cli: Cli) -> None:
    execution = {"executionId": EXECUTION, "jobId": JOB, "dueAt": AT, "state": "SUCCEEDED", "attempts": []}

    def answer(request: Request) -> Response:
        if "/executions/" in request.url:
            return Response(200, {}, json.dumps(execution).encode())
        return Response(404, {}, b'{"detail": "there is no such job"}')

    cli.transport = answer
    told = lines(cli, "exec", "get", EXECUTION)
    assert (told["state"], "payload" in told) == ("SUCCEEDED", False)


@pytest.mark.parametrize(
    ("share", "bar"), [(0.0, "-" * 20), (1.0, "#" * 20), (0.5, "#" * 10 + "-" * 10), (0.999, "#" * 19 + "-")]
)
def test_a_bar_is_full_at_the_end_alone(share: float, bar: str) -> None:
    assert progress(AtWork({**AT_WORK, "progress": share})).startswith(f"[{bar}]")


def test_a_job_is_shown_whole(cli: Cli) -> None:
    cli("job", "create", "--every", "2h", "--key", "report", HOOK, "--data", '{"format": "pdf"}', "--tag", "team=x",
        "--retry", '{"maxAttempts": 3, "retryStatusCodes": [404]}', "--relevancy-window", "10m", "--max-fires", "7",
        "--header", "x-a=1", "--on-failure", f"{HOOK}/dead", "--jitter", "30s", "--precision", "second")  # fmt: skip
    cli("job", "pause", "report", "--reason", "the warehouse counts")
    told = lines(cli, "job", "get", "report")
    assert told["schedule"] == "every 2 h"
    assert told["its options"] == 'jitterSeconds 30, maxFires 7; method "POST", headers {"x-a": "1"}, timeoutSeconds 15'
    assert told["retries"] == "3 attempts, exponential backoff from 5 s to 1 h, full jitter, within 1 d, also after 404"
    assert told["not later than"] == "10 min after it is due"
    assert told["payload"] == '{"format": "pdf"}'
    assert told["on failure"] == f"http {HOOK}/dead"
    assert told["precision"] == "second"
    assert told["reason"] == "the warehouse counts" and "alice" in told["paused"]


def test_a_field_of_a_later_version_is_shown_too(cli: Cli) -> None:
    raw: dict[str, Any] = {"jobId": JOB, "clientId": "acme", "state": "ACTIVE", "colour": {"sky": "blue"}}
    cli.transport = lambda _: Response(200, {}, json.dumps(raw).encode())
    assert lines(cli, "job", "get", JOB)["colour"] == '{"sky": "blue"}'


def test_a_long_payload_is_cut_unless_the_output_is_wide(cli: Cli) -> None:
    cli("job", "create", "--every", "2h", "--key", "report", HOOK, "--text", "x" * 9_000)
    assert len(lines(cli, "job", "get", "report")["payload"]) < 2_100
    assert len(lines(cli, "job", "get", "report", "-o", "wide")["payload"]) == 9_000


def test_a_job_that_is_over_has_no_next_fire(cli: Cli) -> None:
    cli("job", "create", "--in", "1s", "--key", "once", HOOK)
    assert "next fire" in lines(cli, "job", "get", "once")
    cli.api.clockwork.run_until(cli.api.clockwork.clock.at + 60_000)
    told = lines(cli, "job", "get", "once")
    assert (told["state"], "next fire" in told, told["outcomes"]) == ("COMPLETED", False, "1 succeeded")
    assert cli("job", "list").stdout.splitlines()[1].split() == ["once", "SUCCEEDED", "once", "example.com/hook"]


def test_retries_are_told_in_words() -> None:
    assert retries(RetryPolicy({"maxAttempts": 2, "backoff": "none"})) == "2 attempts, no backoff"


def test_a_job_that_fired_once_and_died_is_dead_in_the_list(cli: Cli) -> None:
    with_dead(cli, "a1")
    (line,) = [one for one in cli("job", "list", "-o", "wide").stdout.splitlines() if "a1" in one]
    assert "DEAD" in line
    assert "COMPLETED" not in line


def test_a_list_is_filtered_by_the_states_that_it_shows(cli: Cli) -> None:
    with_dead(cli, "a1")
    cli("job", "create", "--every", "1h", "--key", "report", HOOK)
    assert [one["jobKey"] for one in cli.json("job", "list", "--state", "DEAD")] == ["a1"]
    assert cli.json("job", "list", "--state", "SUCCEEDED") == []
    assert "DEAD" in cli("job", "list", "--state", "dead").stdout


def test_a_change_that_touches_no_execution_prints_no_counts(cli: Cli) -> None:
    cli("job", "create", "--every", "1h", "--key", "report", HOOK)
    assert "0" not in lines(cli, "job", "update", "report", "--text", "new").values()
