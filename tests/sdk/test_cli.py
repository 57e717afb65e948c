"""The command `clockwork` on the shipped edge: what it does, what it prints, and the status that it ends with."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from clockwork.domain.limits.circuits import Circuit
from clockwork_client.cli import show
from clockwork_client.cli.app import clockwork, in_front
from clockwork_client.cli.commands import COMMANDS, GROUPS
from clockwork_client.inert import inert
from clockwork_client.transport import NoAnswer, Request, Response
from tests.handlers.handlers import Api
from tests.sdk.terminal import EXECUTION, HOOK, JOB, Cli, with_dead
from tests.support.examples import ADMIN, ALICE


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    api = Api()
    # The edge and the terminal tell one time: distances are from now.
    api.clockwork.clock.at = int(datetime.now(UTC).timestamp() * 1000)
    return Cli(api)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Somebody sits there to be asked."""
    monkeypatch.setattr("clockwork_client.cli.show.can_ask", lambda: True)
    yield


def test_the_short_form_creates_a_job(cli: Cli) -> None:
    ran = cli("job", "create", "--in", "5m", HOOK, "--data", '{"order":17}')
    assert ran.exit_code == 0, ran.output
    assert "SCHEDULED" in ran.stdout
    assert "(in 4 min)" in ran.stdout or "(in 5 min)" in ran.stdout
    assert cli.body() == {
        "clientId": "acme",
        "schedule": {"delaySeconds": 300},
        "target": {"type": "http", "url": HOOK},
        "payload": {"order": 17},
    }


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        (["--in", "1h30m", HOOK], {"schedule": {"delaySeconds": 5400}, "payload": None}),
        (["--at", "2027-01-31T09:00:00Z", HOOK, "--text", "{"],
         {"schedule": {"at": "2027-01-31T09:00:00.000Z"}, "payload": "{"}),
        (["--every", "90", "--key", "k", HOOK, "--data", "null"],
         {"schedule": {"every": {"seconds": 90}}, "jobKey": "k"}),
        (["--cron", "0 3 * * *", "--timezone", "Europe/Berlin", "--key", "k", HOOK],
         {"schedule": {"cron": "0 3 * * *", "timezone": "Europe/Berlin"}}),
        (["--in", "1", HOOK, "--tag", "a=b=c", "--tag", "d=", "--header", "x-a=1", "--method", "PUT"],
         {"tags": {"a": "b=c", "d": ""},
          "target": {"type": "http", "url": HOOK, "method": "PUT", "headers": {"x-a": "1"}}}),
        (["--in", "1", "arn:aws:sqs:us-east-1:1:q.fifo", "--message-group-id", "g", "--on-failure", HOOK],
         {"target": {"type": "sqs", "queueArn": "arn:aws:sqs:us-east-1:1:q.fifo", "messageGroupId": "g"},
          "onFailure": {"type": "http", "url": HOOK}}),
        (["--in", "1", "arn:aws:events:us-east-1:1:event-bus/b", "--source", "s", "--detail-type", "d"],
         {"target": {"type": "eventbridge", "busArn": "arn:aws:events:us-east-1:1:event-bus/b", "source": "s",
                     "detailType": "d"}}),
        (["--in", "1", "kafka:orders", "--message-key", "7"],
         {"target": {"type": "kafka", "topic": "orders", "key": "7"}}),
        (["--in", "1", "pool:etl/generate", "--timeout", "2h"],
         {"target": {"type": "pool", "pool": "etl", "handler": "generate", "timeoutSeconds": 7200}}),
        (["--in", "1", "arn:aws:lambda:us-east-1:1:function:f", "--retry", '{"maxAttempts": 2}'],
         {"target": {"type": "lambda", "functionArn": "arn:aws:lambda:us-east-1:1:function:f"},
          "retryPolicy": {"maxAttempts": 2}}),
    ],
)  # fmt: skip
def test_options_become_fields(cli: Cli, arguments: list[str], sent: dict[str, Any]) -> None:
    cli("job", "create", *arguments)
    body = cli.body()
    assert {name: body[name] for name in sent} == sent


def test_fires_of_a_job_tell_where_the_clock_shifts(cli: Cli) -> None:
    cli("job", "create", "--cron", "30 2 * * *", "--timezone", "Europe/Berlin", "--key", "nightly", HOOK)
    ran = cli("job", "fires", "--key", "nightly", "--count", "366")
    assert ran.exit_code == 0, ran.output
    assert ran.stdout.count("the clock skips its time that day") == 1
    assert ran.stdout.count("its time comes twice: this is the first") == 1
    listed = json.loads(cli("job", "fires", "--key", "nightly", "--output", "json").stdout)
    assert (len(listed["items"]), listed["more"]) == (10, True)


def test_an_instant_without_a_zone_is_in_the_users(cli: Cli) -> None:
    cli("job", "create", "--at", "2027-01-31T09:00", HOOK)
    zone = datetime(2027, 1, 31, 9).astimezone()
    assert cli.body()["schedule"]["at"] == zone.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def test_data_comes_from_a_file_or_standard_input(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "payload.json").write_text('{"from": "file"}')
    cli("job", "create", "--in", "1", HOOK, "--data", f"@{tmp_path / 'payload.json'}")
    assert cli.body()["payload"] == {"from": "file"}
    cli("job", "create", "--in", "1", HOOK, "--data", "-", text="[1]")
    assert cli.body()["payload"] == [1]


@pytest.mark.parametrize(
    "arguments",
    [
        ["job", "create", HOOK],
        ["job", "create", "--in", "5m", "--cron", "* * * * *", HOOK],
        ["job", "create", "--in", "soon", HOOK],
        ["job", "create", "--at", "tomorrow", HOOK],
        ["job", "create", "--in", "5m", "example.com"],
        ["job", "create", "--in", "5m", HOOK, "--data", "{"],
        ["job", "create", "--in", "5m", HOOK, "--data", "NaN"],
        ["job", "create", "--in", "5m", HOOK, "--data", "@nowhere"],
        ["job", "create", "--in", "5m", HOOK, "--data", "1", "--text", "1"],
        ["job", "create", "--in", "5m", HOOK, "--source", "s"],
        ["job", "create", "--in", "5m", "arn:aws:events:us-east-1:1:event-bus/b"],
        ["job", "create", "--in", "5m", HOOK, "--tag", "x"],
        ["job", "get"],
        ["job", "get", "id", "--key", "key"],
        ["job", "update", "id"],
        ["job", "update", "id", "--method", "PUT"],
        ["job", "update", "id", "--patch", "[1]"],
        ["job", "update", "id", "--patch", "null"],
        ["job", "update", "id", "--patch", '[["tags", {}]]'],
        ["job", "create", "--in", "5m", HOOK, "--retry", "5"],
        ["job", "create", "--in", "5m", HOOK, "--data", "[" * 100_000],
        ["job", "cancel", "id", "--reason", "why"],
        ["upcoming", "--within", "99999999999d"],
        ["whoami", "--deadline", "nan"],
        ["whoami", "--deadline", "0"],
        ["dead", "redrive"],
        ["client", "put", "--body", "[]"],
        ["client", "put", "--body", '{"colour": 1}'],
        ["client", "put", "--body", '{"retryPolicy": 5}'],
        ["client", "put", "--body", "{}", "--max-rate", "1"],
        ["nothing"],
    ],
)
def test_wrong_use_is_status_2_and_sends_nothing(cli: Cli, arguments: list[str]) -> None:
    ran = cli(*arguments)
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert ran.stderr
    assert cli.transport.sent == []


def test_a_refusal_is_status_1_with_its_pointers(cli: Cli) -> None:
    ran = cli("job", "create", "--cron", "61 * * * *", "--key", "k", HOOK)
    assert ran.exit_code == 1
    assert "/schedule/cron: " in ran.stderr
    assert ran.stdout == ""
    assert cli("job", "get", "nothing").exit_code == 1
    assert cli("job", "get", "--key", "nothing").exit_code == 1
    assert "clockwork doctor" in cli("client", "put", "acme").stderr


def test_no_certain_answer_is_status_3_with_the_key_to_repeat(cli: Cli) -> None:
    def lose(_: Request) -> Response:
        raise NoAnswer("lost")

    cli.transport = lose
    ran = cli("job", "create", "--in", "5m", HOOK)
    assert ran.exit_code == 3
    assert "Repeat the command with --idempotency-key key-1." in ran.stderr
    cli.transport = lambda _: Response(200, {}, b"[]")
    assert cli("job", "get", "id").exit_code == 3
    ran = cli("job", "create", "--in", "5m", HOOK)
    assert (ran.exit_code, "--idempotency-key key-2" in ran.stderr) == (3, True)


def test_without_a_url_it_says_what_to_set(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLOCKWORK_URL", raising=False)
    ran = cli("job", "get", "id", url=None)
    assert (ran.exit_code, "CLOCKWORK_URL" in ran.stderr) == (2, True)


def test_global_options_reach_the_client(cli: Cli) -> None:
    cli("--url", "https://x.execute-api.eu-west-1.amazonaws.com", "--client", "other", "--region", "eu-north-1",
        "job", "create", "--in", "1", HOOK)  # fmt: skip
    sent = cli.transport.sent[-1]
    assert sent.url.startswith("https://x.execute-api.eu-west-1.amazonaws.com/")
    assert "/eu-north-1/execute-api/" in sent.headers["Authorization"]
    assert json.loads(sent.body)["clientId"] == "other"


def test_global_options_may_stand_behind_the_command(cli: Cli) -> None:
    ran = cli("job", "list", "--output", "json", "--region=eu-north-1")
    assert (ran.exit_code, json.loads(ran.stdout)) == (0, [])
    assert "/eu-north-1/" in cli.transport.sent[-1].headers["Authorization"]
    assert in_front(["a", "--url", "u", "b", "--", "--output", "c"]) == ["--url", "u", "a", "b", "--", "--output", "c"]
    assert cli("job", "list", "--output").exit_code == 2


def test_a_dry_run_says_what_would_be_and_changes_nothing(cli: Cli) -> None:
    tried = cli("job", "create", "--every", "2h", "--key", "nightly", HOOK, "--dry-run")
    assert "nothing was changed" in tried.stdout
    assert cli.json("job", "list") == []
    cli.json("job", "create", "--every", "2h", "--key", "nightly", HOOK)
    before = cli.json("job", "get", "--key", "nightly")
    updated = cli("job", "update", "--key", "nightly", "--every", "3h", "--dry-run").stdout
    assert "it would fire at other instants" in updated
    assert "it would fire as before" in cli("job", "update", "--key", "nightly", "--data", "7", "--dry-run").stdout
    for verb in ("pause", "resume", "cancel"):
        assert "nothing was changed" in cli("job", verb, "--key", "nightly", "--dry-run").stdout
    assert cli.json("job", "get", "--key", "nightly") == before
    assert cli("job", "pause", "--tag", "a", "--dry-run").exit_code == 2


def test_a_named_job_through_its_life(cli: Cli) -> None:
    made = cli.json("job", "create", "--cron", "0 3 * * *", "--timezone", "Europe/Berlin", "--key", "nightly", HOOK)
    listed = cli("job", "list").stdout
    assert "nightly" in listed
    assert "cron 0 3 * * * Europe/Berlin" in listed
    assert "(in " in listed
    shown = cli("job", "get", "--key", "nightly").stdout
    assert "At 03:00" in shown
    assert cli.json("job", "pause", "--key", "nightly", "--reason", "load")["state"] == "PAUSED"
    assert "load" in cli("job", "get", made["jobId"]).stdout
    assert cli("job", "resume", "--key", "nightly", "--if-revision", "1").exit_code == 1
    assert cli.json("job", "resume", "--key", "nightly", "--if-revision", "2")["state"] == "ACTIVE"
    assert cli.json("job", "update", "--key", "nightly", "--every", "2h", "--data", "7")["revision"] == 4
    whole = cli.json("job", "get", "--key", "nightly")
    assert whole["payload"] == 7
    assert whole["schedule"] == {"every": {"seconds": 7200}, "timezone": "Europe/Berlin"}
    cli.json("job", "update", "--key", "nightly", "--patch", '{"tags": {"a": "b"}}', "--target", f"{HOOK}/2")
    whole = cli.json("job", "get", "--key", "nightly")
    assert (whole["tags"], whole["target"]["url"]) == ({"a": "b"}, f"{HOOK}/2")
    started = cli.json("job", "run", "--key", "nightly")["executionId"]
    cli.api.clockwork.run_until(cli.api.clockwork.clock.at + 60_000)
    assert "SUCCEEDED" in cli("exec", "get", started).stdout
    assert started in cli("exec", "list", "--key", "nightly").stdout.replace("\n", "")
    assert cli("exec", "cancel", started).exit_code == 1
    assert started in cli("exec", "list").stdout.replace("\n", "")
    assert "runsIndex" in cli("exec", "list", "--all").stderr
    now = datetime.now(UTC)
    ran = cli(
        "job", "backfill", "--key", "nightly", "--from", (now - timedelta(hours=9)).isoformat(), "--to", now.isoformat()
    )
    assert ran.exit_code in (0, 1), ran.output
    assert cli.json("job", "cancel", "--key", "nightly")["result"] == "cancelled"


def test_lists_are_json_for_programs(cli: Cli) -> None:
    assert cli.json("job", "list") == []
    for key in "abc":
        cli.json("job", "create", "--every", "1h", "--key", key, HOOK)
    assert [job["jobKey"] for job in cli.json("job", "list")] == ["a", "b", "c"]
    assert [job["jobKey"] for job in cli.json("job", "list", "--limit", "2")] == ["a", "b"]
    ran = cli("job", "list", "--limit", "2")
    assert "there are more" in ran.stderr
    assert "there are more" not in cli("job", "list", "--limit", "3").stderr


def test_the_dead_are_counted_before_anything_happens(cli: Cli, terminal: None) -> None:
    with_dead(cli, "a1", "a2", "b1")
    listed = cli("dead", "list").stdout
    assert listed.count("DEAD") == 3
    caused = cli.json("dead", "causes")
    assert ([one["count"] for one in caused["groups"]], caused["lookedAt"]) == ([1, 1, 1], 3)
    of_a = cli.json("dead", "causes", "--prefix", "a")
    assert ([one["count"] for one in of_a["groups"]], of_a["lookedAt"]) == ([1, 1], 3)
    assert "a1" in cli("dead", "causes").stdout
    cli.transport.sent.clear()
    ran = cli("dead", "discard", "--prefix", "a", text="n\n")
    assert "Discard 2 dead executions of acme?" in ran.output
    assert {request.method for request in cli.transport.sent} == {"GET"}
    assert cli("dead", "list").stdout.count("DEAD") == 3
    later = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    assert "No dead execution is meant" in cli("dead", "discard", "--from", later, text="y\n").stderr
    ran = cli("dead", "discard", "--prefix", "a", text="y\n")
    assert ran.exit_code == 0, ran.output
    assert cli("dead", "list").stdout.count("DEAD") == 1
    assert cli.json("dead", "redrive", "--yes") == {"matched": 1, "changed": 1}


def with_jobs(cli: Cli, *keys: str) -> None:
    for key in keys:
        cli.json("job", "create", "--every", "1h", HOOK, "--key", key, "--tag", f"team={key[0]}")


def states(cli: Cli) -> dict[str, str]:
    return {one["jobKey"]: one["state"] for one in cli.json("job", "list")}


def test_many_jobs_are_counted_before_anything_happens(cli: Cli, terminal: None) -> None:
    with_jobs(cli, "a1", "a2", "b1")
    ran = cli("job", "pause", "--key-prefix", "a", "--reason", "incident", text="n\n")
    assert "Pause 2 named jobs of acme?" in ran.output and ran.exit_code == 0
    assert set(states(cli).values()) == {"ACTIVE"}
    assert cli("job", "pause", "--tag", "team=a", "--reason", "incident", text="y\n").exit_code == 0
    assert states(cli) == {"a1": "PAUSED", "a2": "PAUSED", "b1": "ACTIVE"}
    assert cli.json("job", "resume", "--key-prefix", "a1", "--yes") == {"matched": 1, "changed": 1}
    assert cli.json("job", "cancel", "--tag", "team", "--yes") == {"matched": 3, "changed": 3}
    assert states(cli) == {}
    assert "No named job is meant" in cli("job", "cancel", "--tag", "team", text="y\n").stderr


def test_an_empty_tag_or_prefix_is_refused_and_never_left_out(cli: Cli) -> None:
    with_jobs(cli, "a1", "b1")
    for which in (["--tag", "", "--key-prefix", "a"], ["--tag", "team", "--key-prefix", ""], ["--tag", ""]):
        assert cli("job", "cancel", *which, "--yes").exit_code == 1
    assert cli.json("job", "cancel", "--tag", "team=", "--yes") == {"matched": 0, "changed": 0}
    assert states(cli) == {"a1": "ACTIVE", "b1": "ACTIVE"}


def test_a_resume_of_many_leaves_alone_what_was_paused_for_another_reason(cli: Cli) -> None:
    with_jobs(cli, "a1", "a2")
    for key, reason in (("a1", "holidays"), ("a2", "incident")):
        assert cli("job", "pause", "--key", key, "--reason", reason).exit_code == 0
    resume = ("job", "resume", "--tag", "team", "--paused-reason", "incident", "--yes")
    assert cli.json(*resume) == {"matched": 1, "changed": 1}
    assert states(cli) == {"a1": "PAUSED", "a2": "ACTIVE"}
    assert cli("job", "resume", "--key", "a1", "--paused-reason", "incident").exit_code == 2


def test_what_is_done_with_many_jobs_shows_how_far_it_came_and_goes_on(cli: Cli) -> None:
    with_jobs(cli, *(f"a{number:03}" for number in range(130)))
    done = cli("job", "cancel", "--key-prefix", "a", "--yes")
    assert "100 found, 100 changed, more to come" in done.stderr
    assert states(cli) == {}


def test_named_jobs_are_listed_by_when_they_are_due(cli: Cli) -> None:
    with_jobs(cli, "a1")
    soon = (datetime.now(UTC) + timedelta(minutes=30)).isoformat()
    assert cli.json("job", "list", "--due-to", soon) == []
    assert [one["jobKey"] for one in cli.json("job", "list", "--due-from", soon)] == ["a1"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["job", "cancel", "j", "--tag", "x"],
        ["job", "cancel", "--key", "k", "--key-prefix", "x"],
        ["job", "cancel", "j", "--yes"],
        ["job", "pause", "--tag", "x", "--if-revision", "3", "--yes"],
        ["job", "resume", "--tag", "x"],
        ["job", "pause"],
    ],
)
def test_one_job_and_many_are_not_mixed(cli: Cli, arguments: list[str]) -> None:
    assert cli(*arguments).exit_code == 2
    assert cli.transport.sent == []


def test_what_is_done_with_the_dead_goes_on_where_it_was_stopped(cli: Cli) -> None:
    with_dead(cli, *(f"k{number:03}" for number in range(130)))
    inner, calls = cli.transport, []

    def fails_later(request: Request) -> Response:
        if request.url.endswith("/dead/discard"):
            calls.append(request)
            if len(calls) > 1:
                return Response(403, {}, b'{"message": "The security token included in the request is expired"}')
        answer: Response = inner(request)
        return answer

    cli.transport = fails_later
    ran = cli("dead", "discard", "--yes")
    assert ran.exit_code == 1
    assert "100 found, 100 changed, more to come" in ran.stderr
    token = ran.stderr.partition("--next-token ")[2].split()[0]
    cli.transport = inner
    assert cli.json("dead", "discard", "--yes", "--next-token", token) == {"matched": 30, "changed": 30}
    assert cli.json("dead", "list") == []


def test_a_client_is_written_shown_and_paused(cli: Cli) -> None:
    arn = "arn:aws:iam::111111111111:user/u"
    given = ("--principal", arn, "--max-rate", "5", "--runs-index")
    written = cli.json("client", "put", "new", *given, caller=ADMIN)
    assert (written["principals"], written["maxRatePerSecond"], written["runsIndex"]) == ([arn], 5, True)
    assert cli.json("client", "get", "new", caller=ADMIN) == written
    body = json.dumps({"principals": [arn], "retryPolicy": {"maxAttempts": 2}, "jobsPerDay": 9})
    written = cli.json("client", "put", "new", "--body", body, caller=ADMIN)
    assert (written["retryPolicy"]["maxAttempts"], written["jobsPerDay"]) == (2, 9)
    assert "maxRatePerSecond" not in written
    ran = cli("client", "pause", "new", "--reason", "load", caller=ADMIN)
    assert "PAUSED" in ran.stdout
    assert "parked for 14 days ends DEAD" in ran.stderr
    assert "ACTIVE" in cli("client", "resume", "new", caller=ADMIN).stdout


def test_cron_is_explained(cli: Cli) -> None:
    assert "At 03:00, on Monday" in cli("cron", "explain", "0 3 * * MON").stdout
    told = cli("cron", "next", "0 3 * * *", "--timezone", "America/New_York", "--count", "2").stdout
    assert len(told.strip().splitlines()) == 3
    assert "(in " in told
    assert cli("cron", "explain", "x").exit_code == 1


HOSTILE = "a\x1b[2J\x1b]0;owned\x07\u202egnp.exe\u2066\x9b31m\x7f\x00\r\n[bold]:smile:\u200b"


@pytest.mark.parametrize("output", ["table", "json"])
def test_hostile_texts_are_shown_inert(cli: Cli, output: str) -> None:
    raw = {
        "jobId": HOSTILE, "clientId": HOSTILE, "jobKey": HOSTILE, "state": HOSTILE, "revision": 1, "reason": HOSTILE,
        "description": HOSTILE, "payload": {HOSTILE: HOSTILE}, "tags": {HOSTILE: HOSTILE},
        "target": {"type": "http", "url": HOSTILE}, "schedule": {"cron": HOSTILE, "timezone": HOSTILE},
        "nextFires": [{"at": "2027-01-31T09:00:00.000Z", "local": HOSTILE}] * 3,
    }  # fmt: skip
    execution = {
        "executionId": HOSTILE, "jobId": HOSTILE, "clientId": HOSTILE,
        "dueAt": "2027-01-31T09:00:00.000Z", "state": HOSTILE,
        "waiting": {"cause": HOSTILE, "says": HOSTILE}, "reason": HOSTILE, "attempts": [
            {"number": 1, "state": HOSTILE, "startedAt": "2027-01-31T09:00:00.000Z", "error": HOSTILE}
        ],
    }  # fmt: skip
    at = "2027-01-31T09:00:00.000Z"
    entry = {
        "at": at, "principal": HOSTILE, "action": HOSTILE, "jobKey": HOSTILE, "reason": HOSTILE,
        "asked": {HOSTILE: HOSTILE}, "changes": [HOSTILE], "refused": HOSTILE,
    }  # fmt: skip
    upcoming = {
        "at": at,
        "dueAt": at,
        "jobId": HOSTILE,
        "target": raw["target"],
        "jobKey": HOSTILE,
        "waitsFor": HOSTILE,
    }
    shard = {"partitionId": HOSTILE, "status": HOSTILE, "ordered": False, "leased": False, "owner": HOSTILE}
    passed = {"jobId": HOSTILE, "jobKey": HOSTILE, "reason": HOSTILE}
    problem = {"detail": HOSTILE, "errors": [{"pointer": HOSTILE, "detail": HOSTILE}]}
    answers: list[tuple[list[str], int, Any]] = [
        (["job", "get", JOB], 200, raw),
        (["job", "list"], 200, {"items": [raw]}),
        (["exec", "get", EXECUTION], 200, execution),
        (["exec", "list", JOB], 200, {"items": [execution]}),
        (["dead", "list"], 200, {"items": [execution]}),
        (["job", "cancel", "--tag", "x", "--yes"], 200, {"matched": 1, "changed": 0, "passed": [passed]}),
        (["cron", "explain", "x"], 200, {"nextFires": raw["nextFires"], "description": HOSTILE}),
        (["audit"], 200, {"items": [entry]}),
        (["upcoming"], 200, {"items": [upcoming]}),
        (["whoami"], 200, {"principal": HOSTILE, "admin": False, "clientIds": [HOSTILE]}),
        (["shards"], 200, {"items": [shard]}),
        (["job", "cancel", JOB], 200, {"jobId": "x", "result": "cancelled", "reason": HOSTILE, "executions": []}),
        (["job", "get", JOB], 422, problem),
        # Of the message the first line stays.
        (["job", "get", JOB], 403, {"message": HOSTILE.replace("\n", " ")}),
    ]
    for arguments, status, body in answers:
        answer = Response(status, {}, json.dumps(body).encode())
        cli.transport = lambda _, answer=answer: answer
        ran = cli("--output", output, *arguments)
        is_done = status == 200 and "passed" not in body
        assert ran.exit_code == (0 if is_done else 1), (arguments, ran.output, ran.exception)
        printed = ran.stdout + ran.stderr
        assert "owned" in printed, arguments
        acting = {one for one in printed if not (" " <= one <= "~") and one != "\n"}
        assert acting == set(), (arguments, acting)
        assert "[bold]:smile:" in printed, arguments


def test_a_text_that_is_only_foreign_is_shown_as_it_is() -> None:
    assert inert("Überprüfung 日本 שלום é") == "Überprüfung 日本 שלום é"
    assert inert("\x7f\x85\u2028\ud800\ue000\U000e0041") == r"\x7f\x85\u2028\ud800\ue000\U000e0041"
    assert len(inert("x" * 10_000)) < 500


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0.2, "now"), (59, "in 59 s"), (60, "in 1 min"), (-61, "1 min ago"), (7_300, "in 2 h"), (-200_000, "2 d ago")],
)
def test_distances(seconds: float, told: str) -> None:
    assert show.distance(seconds) == told


def test_the_help_of_a_group_is_its_line_in_the_help_of_all(cli: Cli) -> None:
    for name, (group, line) in GROUPS.items():
        made = group()
        assert (made.name, made.help) == (name, line)
        assert set(line.rstrip(".").rpartition(": ")[2].split(", ")) == set(made.commands)
        assert cli(name, "--help").exit_code == 0
    assert cli("--help").exit_code == 0
    assert cli("help").stdout == cli("--help").stdout
    assert cli("help", "job", "create").stdout == cli("job", "create", "--help").stdout


def test_the_help_of_a_command_is_its_line_in_the_help_of_all(cli: Cli) -> None:
    for name, (command, line) in COMMANDS.items():
        made = command()
        assert (made.name, (made.help or "").partition("\n")[0]) == (name, line)
        assert cli(name, "--help").exit_code == 0


def test_upcoming_shows_anonymous_jobs_and_the_next_fire_of_named_ones_in_order(cli: Cli) -> None:
    cli("job", "create", "--key", "nightly", "--every", "1h", HOOK)
    cli("job", "create", "--in", "5m", HOOK)
    found = cli.json("upcoming")
    assert [one.get("jobKey") for one in found] == [None, "nightly"]
    ran = cli("upcoming")
    assert ran.exit_code == 0
    assert "(in 4 min)" in ran.stdout or "(in 5 min)" in ran.stdout
    assert "nightly" in ran.stdout and "recurs" in ran.stdout
    assert cli.json("upcoming", "--within", "1m") == []


def test_an_update_shows_each_change_with_both_values(cli: Cli) -> None:
    cli("job", "create", "--key", "nightly", "--every", "2h", "--tag", "a=b", HOOK)
    told = cli("job", "update", "--key", "nightly", "--every", "3h", "--tag", "a=b", "--data", "7").stdout
    shown = [line.split() for line in told.partition("CHANGED ")[2].splitlines()]
    assert shown == [
        ["BEFORE", "NOW"],
        ["schedule", '{"every":', '{"seconds":', "7200}}", '{"every":', '{"seconds":', "10800}}"],
        ["payload", "null", "7"],
    ]


def test_the_audit_tells_who_changed_what_when_and_why(cli: Cli) -> None:
    cli("job", "create", "--key", "nightly", "--every", "1h", HOOK)
    cli("job", "pause", "--key", "nightly", "--reason", "incident 7")
    cli.api.clockwork.clock.at += 1
    cli("job", "update", "--key", "nightly", "--every", "2h")
    assert [one["action"] for one in cli.json("audit")] == ["patchJob", "pauseJob"]
    told = cli("audit").stdout
    assert "incident 7" in told and "nightly" in told and "/schedule/every/seconds" in told
    assert ALICE.rpartition(":")[2] in told and ALICE not in told
    assert ALICE in cli("audit", "-o", "wide").stdout
    limited = cli("audit", "--limit", "1")
    assert "pauseJob" not in limited.stdout
    assert "there are more" in limited.stderr


def test_whoami_tells_the_principal_and_its_clients(cli: Cli) -> None:
    assert "may act for  acme" in cli("whoami").stdout
    assert "every client" in cli("whoami", caller=ADMIN).stdout
    assert "none" in cli("whoami", caller="arn:aws:iam::111111111111:user/nobody").stdout


def test_clients_are_listed_with_what_they_use(cli: Cli) -> None:
    assert [one["clientId"] for one in cli.json("client", "list", caller=ADMIN)] == ["acme", "globex"]
    assert "acme" in cli("client", "list", caller=ADMIN).stdout
    assert cli("client", "list").exit_code == 1
    began_at = cli.api.clockwork.clock.at
    shut = Circuit("acme", "down.example.com", began_at, began_at + 60_000, 60_000)
    assert cli.api.clockwork.regulation.save_circuit(None, shut)
    told = cli("client", "usage").stdout
    assert "parked" in told
    assert f"down.example.com {datetime.fromtimestamp(began_at / 1000, UTC).astimezone():%Y-%m-%d %H:%M}" in told


def test_the_activity_of_a_client_is_a_row_a_minute(cli: Cli) -> None:
    for seconds in ("1s", "70s"):
        cli("job", "create", "--in", seconds, HOOK)
    cli.api.clockwork.run_until(cli.api.clockwork.clock.at + 90_000)
    ran = cli("client", "activity")
    assert ran.exit_code == 0
    rows = [line.split() for line in ran.stdout.splitlines() if "ms" in line]
    assert [row[-11:] for row in rows] == [["1", "1", *"00000", "10", "ms", "10", "ms"]] * 2
    assert "Approximate" in ran.stderr
    found = cli.json("client", "activity", "--step", "3600")
    # The hour may change between the two.
    assert [sum(one[name] for one in found["items"]) for name in ("started", "succeeded")] == [2, 2], found
    assert cli("client", "activity", "globex").exit_code == 1


def test_a_client_is_deleted_once_somebody_says_so(cli: Cli, terminal: None) -> None:
    assert cli("client", "delete", "globex", caller=ADMIN, text="n\n").exit_code == 0
    assert [one["state"] for one in cli.json("client", "list", caller=ADMIN)] == ["ACTIVE", "ACTIVE"]
    ran = cli("client", "delete", "globex", caller=ADMIN, text="y\n")
    assert ran.exit_code == 0 and "DELETING" in ran.stdout
    assert cli("client", "delete", "acme", "--yes").exit_code == 1


def test_nothing_is_deleted_when_nobody_can_be_asked(cli: Cli) -> None:
    assert cli("client", "delete", "globex", caller=ADMIN).exit_code == 2
    assert not any(one.method == "DELETE" for one in cli.transport.sent)


def test_shards_are_shown_to_admins(cli: Cli) -> None:
    cli("job", "create", "--in", "5m", HOOK)
    cli.api.clockwork.run_until(cli.api.clockwork.clock.at + 120_000)
    ran = cli("shards", caller=ADMIN)
    assert ran.exit_code == 0
    assert "p000" in ran.stdout and "used" in ran.stdout
    assert cli("shards").exit_code == 1


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_there_is_completion(cli: Cli, shell: str) -> None:
    assert "_CLOCKWORK_COMPLETE" in cli("completion", shell).stdout


def test_completion_knows_the_commands() -> None:
    ran = CliRunner().invoke(
        clockwork, [], prog_name="clockwork",
        env={"_CLOCKWORK_COMPLETE": "bash_complete", "COMP_WORDS": "clockwork job ", "COMP_CWORD": "2"},
    )  # fmt: skip
    assert {"plain,create", "plain,backfill"} <= set(ran.stdout.split())
