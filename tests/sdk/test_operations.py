"""Operations by the client and by `clockwork operation`, in the testing kit's virtual time."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from clockwork_client import Clockwork, Conflict, http, retry
from clockwork_client.testing import VirtualClockwork
from tests.handlers.handlers import Api
from tests.sdk.terminal import Cli, with_dead

HOOK = "https://example.com/hook"


@pytest.fixture
def kit() -> VirtualClockwork:
    return VirtualClockwork()


def dying(kit: VirtualClockwork, count: int) -> Clockwork:
    """A client with so many dead executions, whose target is mended by now."""
    cw = kit.client("acme")
    kit.on_deliver(lambda _: 410)
    for number in range(count):
        cw.schedule(http(f"https://h{number // 5}.example.com/"), in_=1, retry=retry(max_attempts=1))
    kit.advance(seconds=30)
    kit.on_deliver(lambda _: 200)
    return cw


def test_a_redrive_of_many_goes_on_while_time_passes(kit: VirtualClockwork) -> None:
    cw = dying(kit, 30)
    made = cw.operations.begin("redriveDead", max_per_second=1, reason="mended")
    assert (made.state, made.filter.to, made.is_over) == ("RUNNING", kit.now, False)
    kit.advance(minutes=1)
    begun = cw.operations.get(made.operation_id)
    assert 10 <= begun.changed <= 60
    kit.advance(minutes=2)
    done = cw.operations.get(made.operation_id)
    assert (done.state, done.changed, done.matched, done.is_over) == ("DONE", 30, 30, True)
    assert done.ended_at is not None
    assert done.ended_at - done.made_at >= timedelta(seconds=20)
    assert list(cw.dead) == []
    assert [one.operation_id for one in cw.operations] == [made.operation_id]


def test_a_stop_leaves_the_rest_as_it_is(kit: VirtualClockwork) -> None:
    cw = dying(kit, 30)
    made = cw.operations.begin("discardDead", max_per_second=0.5)
    kit.advance(minutes=1)
    stopped = cw.operations.stop(made.operation_id, reason="wrong filter")
    assert stopped.state == "STOPPED"
    left = len(list(cw.dead))
    assert left == 30 - stopped.changed > 0
    kit.advance(hours=1)
    assert len(list(cw.dead)) == left


def test_named_jobs_are_paused_by_tag(kit: VirtualClockwork) -> None:
    cw = kit.client("acme")
    for number in range(3):
        cw.schedule(http(HOOK), every=3_600, key=f"k{number}", tags={"team": "a" if number else "b"})
    cw.operations.begin("pauseJobs", tag="team=a", reason="incident")
    kit.advance(minutes=2)
    assert [job.state for job in cw.jobs] == ["ACTIVE", "PAUSED", "PAUSED"]


def test_a_fifth_open_operation_is_a_conflict(kit: VirtualClockwork) -> None:
    cw = kit.client("acme")
    for _ in range(4):
        cw.operations.begin("redriveDead")
    with pytest.raises(Conflict):
        cw.operations.begin("redriveDead")
    kit.advance(minutes=1)
    cw.operations.begin("redriveDead")


@pytest.fixture
def cli() -> Cli:
    return Cli(Api())


def swept(cli: Cli) -> None:
    from clockwork.flows.operations.sweep import run_operations

    run_operations(cli.api.clockwork.world, cli.api.clockwork.clock.at + 30_000)


def test_an_operation_is_begun_shown_listed_and_stopped_by_commands(cli: Cli) -> None:
    with_dead(cli, "a1", "a2", "b1")
    ran = cli("operation", "begin", "redriveDead", "--prefix", "a", "--max-per-second", "5", "--reason", "mended")
    assert ran.exit_code == 0
    assert cli.body() == {
        "kind": "redriveDead",
        "filter": {"prefix": "a"},
        "maxPerSecond": 5.0,
        "reason": "mended",
    }
    assert "state" in ran.stdout
    assert "RUNNING" in ran.stdout
    (made,) = cli.json("operation", "list")
    swept(cli)
    shown: Any = cli.json("operation", "get", made["operationId"])
    assert (shown["state"], shown["changed"]) == ("DONE", 2)
    assert "DONE" in cli("operation", "list").stdout
    watched = cli("operation", "watch", made["operationId"])
    assert (watched.exit_code, "DONE" in watched.stdout) == (0, True)
    other = cli.json("operation", "begin", "discardDead")
    assert cli.json("operation", "stop", other["operationId"], "--reason", "r")["state"] == "STOPPED"
    assert cli("operation", "watch", other["operationId"]).exit_code == 1
    assert cli("operation", "begin", "burnDead").exit_code == 2
