"""`clockwork pools`: what admins and workers are shown of a pool, what waits and runs there, and who works."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from clockwork.domain.errors import Unavailable
from tests.handlers.fleet import HANDLER, POOL, ROLE, TARGET, Worker, with_pool
from tests.handlers.handlers import Api
from tests.sdk.terminal import Cli
from tests.support.examples import ADMIN, ALICE, BOB


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    api = with_pool()
    api.clockwork.clock.at = int(datetime.now(UTC).timestamp() * 1000)
    return Cli(api)


def worked(cli: Cli, jobs: int = 2) -> list[str]:
    """Tokens of attempts that a worker holds, of as many jobs."""
    for _ in range(jobs):
        job = {"clientId": "acme", "schedule": {"delaySeconds": 0}, "target": TARGET}
        assert cli.api.call("POST", "/v1/jobs", job, caller=ALICE).status == 201
    cli.api.clockwork.poll_all()
    worker = Worker(cli.api)
    tokens = [start["token"] for start in worker.take()]
    assert len(tokens) == jobs
    worker.beat({"token": tokens[0], "progress": 0.5, "message": "half \x1b[31mof it"})
    return tokens


def test_pools_are_listed_for_admins(cli: Cli) -> None:
    shown = cli("pools", "list", caller=ADMIN)
    assert shown.exit_code == 0, shown.output
    heads, first, second = shown.stdout.splitlines()
    assert heads.split() == ["POOL", "PRIORITIES", "LEASE", "HANDLERS"]
    assert first.split(maxsplit=1)[0] == POOL
    assert all(one in first for one in ("high, normal, low", "90 s", f"{HANDLER}, close_month"))
    assert second.split()[:2] == ["gpu", "normal"]
    assert [one["name"] for one in cli.json("pools", "list", caller=ADMIN)] == [POOL, "gpu"]
    for caller in (ALICE, ROLE):
        refused = cli("pools", "list", caller=caller)
        assert (refused.exit_code, refused.stdout) == (1, "")


def test_a_deployment_without_pools_lists_none() -> None:
    none = Cli(Api())
    assert none.json("pools", "list", caller=ADMIN) == []
    assert len(none("pools", "list", caller=ADMIN).stdout.splitlines()) == 1


def test_admins_see_what_waits_and_runs_and_who_works(cli: Cli) -> None:
    idle = cli("pools", "show", POOL, caller=ADMIN)
    assert "About 0 high, 0 normal, 0 low jobs wait." in idle.stderr
    assert "0 attempts run." in idle.stderr
    assert len(idle.stdout.splitlines()) == 1
    worked(cli)
    cli.api.clockwork.pool_queues.of(POOL, "low").put("a ticket", 0)
    assert "not due yet" not in cli("pools", "show", POOL, caller=ADMIN).stderr
    cli.api.clockwork.pool_queues.of(POOL, "high").put("another", 60)
    shown = cli("pools", "show", POOL, caller=ADMIN)
    assert shown.exit_code == 0, shown.output
    assert "About 0 high, 0 normal, 1 low jobs wait." in shown.stderr
    assert "About 1 more are not due yet, or put off" in shown.stderr
    assert "2 attempts run." in shown.stderr
    heads, row = shown.stdout.splitlines()
    assert heads.split() == ["WORKER", "NOTED", "IN", "PROGRESS", "CLAIMED", "LATE"]
    assert row.split()[0] == "host-1"
    assert row.split()[-3:] == ["2", "0.0", "s"]
    (seen,) = cli.json("pools", "show", POOL, caller=ADMIN)["workers"]
    assert (seen["workerId"], seen["running"]) == ("host-1", 2)


def test_a_worker_sees_what_waits_and_no_other_worker(cli: Cli) -> None:
    worked(cli)
    shown = cli("pools", "show", POOL, caller=ROLE)
    assert shown.exit_code == 0, shown.output
    assert "jobs wait." in shown.stderr
    assert "only admins see them" in shown.stderr
    assert shown.stdout == ""
    found = cli.json("pools", "show", POOL, caller=ROLE)
    assert found["waiting"]
    assert not {"running", "workers"} & set(found)


def test_what_gives_no_answer_is_said_to_be_unknown(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_answer(*_: object) -> None:
        raise Unavailable("no answer")

    monkeypatch.setattr(cli.api.clockwork.pool_queues, "waiting", no_answer)
    monkeypatch.setattr(cli.api.clockwork.workers, "list", no_answer)
    shown = cli("pools", "show", POOL, caller=ADMIN)
    assert (shown.exit_code, shown.stdout) == (0, "")
    assert "About an unknown number of jobs wait." in shown.stderr
    assert "Nothing is known of attempts" in shown.stderr


def test_what_runs_is_listed_with_its_progress(cli: Cli) -> None:
    assert cli.json("pools", "running", POOL, caller=ADMIN) == []
    assert len(cli("pools", "running", POOL, caller=ADMIN).stdout.splitlines()) == 1
    worked(cli)
    shown = cli("pools", "running", POOL, caller=ADMIN)
    assert shown.exit_code == 0, shown.output
    heads, *rows = shown.stdout.splitlines()
    assert heads.split() == ["WORKER", "DONE", "SAYS", "LEASE", "UNTIL", "ATTEMPT", "EXECUTION"]
    assert len(rows) == 2
    assert all(row.startswith("host-1") for row in rows)
    assert shown.stderr == ""
    assert "There are more than these 1" in cli("pools", "running", POOL, "--limit", "1", caller=ADMIN).stderr
    (half,) = [row for row in rows if "50%" in row]
    assert r"half \x1b[31mof it" in half
    assert len(cli.json("pools", "running", POOL, "--limit", "1", caller=ADMIN)) == 1


@pytest.mark.parametrize("what", ["show", "running"])
def test_a_pool_that_there_is_not_is_named(cli: Cli, what: str) -> None:
    shown = cli("pools", what, "none", caller=ADMIN)
    assert (shown.exit_code, shown.stdout) == (1, "")
    assert "this deployment has no pool none" in shown.stderr
    hostile = cli("pools", what, "../clients/acme", caller=ADMIN)
    assert (hostile.exit_code, hostile.stdout) == (1, "")


@pytest.mark.parametrize(("what", "caller"), [("show", ALICE), ("show", BOB), ("running", ALICE), ("running", ROLE)])
def test_nobody_else_is_told_anything(cli: Cli, what: str, caller: str) -> None:
    answers = [cli("pools", what, name, caller=caller) for name in (POOL, "none")]
    assert [(one.exit_code, one.stdout) for one in answers] == [(1, "")] * 2
    assert answers[0].stderr == answers[1].stderr


@pytest.mark.parametrize("arguments", [("show",), ("running",), ("running", POOL, "--limit", "0"), ("list", "x")])
def test_wrong_use_is_status_2_and_sends_nothing(cli: Cli, arguments: tuple[str, ...]) -> None:
    assert cli("pools", *arguments, caller=ADMIN).exit_code == 2
    assert not cli.transport.sent
