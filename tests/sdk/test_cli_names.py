"""The command line takes names as people have them: keys where ids go, and words that are nearly right."""

from __future__ import annotations

import json

import pytest

from clockwork_client.cli.names import is_job_id
from clockwork_client.cli.near import explained
from clockwork_client.errors import Fault
from clockwork_client.transport import Request, Response
from tests.handlers.handlers import Api
from tests.sdk.terminal import EXECUTION, HOOK, JOB, Cli


@pytest.fixture
def cli() -> Cli:
    found = Cli(Api())
    found.json("job", "create", "--every", "1h", "--key", "report", HOOK)
    return found


def test_a_key_stands_where_an_id_stands(cli: Cli) -> None:
    made = cli.json("job", "get", "report")
    assert made == cli.json("job", "get", made["jobId"]) == cli.json("job", "get", "--key", "report")
    assert cli.json("job", "pause", "report")["state"] == "PAUSED"
    assert cli.json("job", "resume", "report")["state"] == "ACTIVE"
    assert cli.json("job", "update", "report", "--every", "2h")["revision"] == 4
    assert cli("job", "fires", "report").exit_code == 0
    assert [one["action"] for one in cli.json("audit", "--job", "report")] != []
    assert cli("audit", "--job", "nothing").exit_code == 1
    assert cli.json("job", "cancel", "report")["result"] == "cancelled"


def test_a_key_stands_for_the_newest_execution_of_its_job(cli: Cli) -> None:
    ran = cli("exec", "get", "report")
    assert (ran.exit_code, "has no execution yet" in ran.stderr) == (1, True)
    first, second = (cli.json("job", "run", "report")["executionId"] for _ in range(2))
    cli.api.clockwork.run_until(cli.api.clockwork.clock.at + 60_000)
    assert first != second
    found = cli.json("exec", "get", "report")["executionId"]
    assert found == cli.json("exec", "list", "report")[0]["executionId"]
    assert cli.json("exec", "get", found)["executionId"] == found
    one_off = cli.json("job", "create", "--in", "1s", HOOK)["jobId"]
    cli.api.clockwork.run_until(cli.api.clockwork.clock.at + 60_000)
    assert cli.json("exec", "get", one_off)["state"] == "SUCCEEDED"


def test_a_job_without_records_says_why_it_has_no_execution(cli: Cli) -> None:
    job_id = cli.json("job", "create", "--in", "1s", "--record", "none", HOOK)["jobId"]
    cli.api.clockwork.run_until(cli.api.clockwork.clock.at + 60_000)
    ran = cli("exec", "get", job_id)
    assert (ran.exit_code, "its level of record is none" in ran.stderr) == (1, True)


def test_a_job_that_may_be_left_out_stands_in_brackets(cli: Cli) -> None:
    assert "[JOB]" in cli("exec", "list", "--help").stdout


def test_an_id_is_asked_for_alone(cli: Cli) -> None:
    job_id = cli.json("job", "get", "report")["jobId"]
    cli.transport.sent.clear()
    cli("job", "get", job_id)
    assert len(cli.transport.sent) == 1


@pytest.mark.parametrize(
    "key", ["report", "nightly", "nightly1", "another-job", "a", "n", "..", "AAAA", "ü", "invoices/2027", "a" * 255, ""]
)
def test_a_key_is_no_id(key: str) -> None:
    assert not is_job_id(key)


def test_ids_of_the_api_are_known(cli: Cli) -> None:
    one_off = cli.json("job", "create", "--in", "1h", HOOK)["jobId"]
    assert is_job_id(one_off) and is_job_id(JOB)
    assert not is_job_id(EXECUTION)


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (["jb"], 2, "'job'"),
        (["jobs", "list"], 2, "'job'"),
        (["doctr"], 2, "'doctor'"),
        (["list"], 2, "'job list' or 'exec list' or 'dead list'"),
        (["create"], 2, "'job create'"),
        (["job", "lst"], 2, "'list'"),
        (["exec", "redriv"], 2, "'redrive'"),
        (["job", "list", "--prefx", "x"], 2, "'--prefix'"),
        (["job", "list", "--state", "activ"], 2, "'ACTIVE'"),
        (["exec", "list", "--state", "SUCEEDED"], 2, "'SUCCEEDED'"),
        (["job", "get", "reprot"], 1, "'report'"),
        (["job", "create", "--in", "5m", HOOK, "--retry", '{"maxAttemps": 3}'], 1, "maxAttempts"),
        (["job", "update", "report", "--patch", '{"retryPolcy": {}}'], 1, "retryPolicy"),
    ],
)
def test_a_word_that_is_nearly_right_gets_the_right_one(cli: Cli, arguments: list[str], status: int, told: str) -> None:
    ran = cli(*arguments)
    assert (ran.exit_code, ran.stdout) == (status, "")
    assert ran.stderr.lower().count("did you mean ") == 1
    assert f"id you mean {told}?" in ran.stderr


def test_a_field_that_an_older_api_refuses_gets_the_right_one_as_well() -> None:
    assert explained(Fault("/retryPolicy/maxAttemps", "is not a known field")).endswith("Did you mean 'maxAttempts'?")
    assert explained(Fault("/zzz", "is not a known field")) == "is not a known field."


def test_a_word_that_is_like_none_gets_no_advice(cli: Cli) -> None:
    for arguments in (["zzz"], ["job", "list", "--state", "zzz"], ["job", "get", "zzz"]):
        ran = cli(*arguments)
        assert ran.exit_code and "Did you mean" not in ran.stderr
    # A state of a later version is for the API to judge.
    assert "must be one of" in cli("job", "list", "--state", "zzz").stderr
    assert cli.json("job", "list", "--state", "active")[0]["jobKey"] == "report"


def test_a_key_that_stands_for_another_job_is_told_with_both_values(cli: Cli) -> None:
    given = ("--every", "3h", "--key", "report", HOOK, "--tag", "a=b", "--data", '{"x": "' + "y" * 100 + '"}')
    ran = cli("job", "create", *given)
    assert ran.exit_code == 1
    assert "/schedule/every/seconds: differs: 10800 was sent, 3600 is kept" in ran.stderr
    assert "/payload: differs: " in ran.stderr and "… was sent, null is kept" in ran.stderr
    assert '/tags: differs: {"a": "b"} was sent, {} is kept' in ran.stderr


def test_differences_stay_without_values_if_the_kept_job_cannot_be_read(cli: Cli) -> None:
    inner = cli.transport

    def refuses_reads(request: Request) -> Response:
        if request.method == "GET":
            return Response(403, {}, json.dumps({"message": "no"}).encode())
        answer: Response = inner(request)
        return answer

    cli.transport = refuses_reads
    ran = cli("job", "create", "--every", "3h", "--key", "report", HOOK)
    assert (ran.exit_code, "/schedule/every/seconds: differs\n" in ran.stderr) == (1, True)
