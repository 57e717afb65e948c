"""The contract of `ports.Turnstiles`, and of reading a stretch of a job's executions."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec
import pytest

from clockwork.domain.executions import Execution, State
from clockwork.domain.named_jobs import Turnstile
from clockwork.ports import Turnstiles
from tests.contract.examples import DUE
from tests.contract.races import at_once
from tests.contract.worlds import AwsWorld, World

FIRST = Turnstile(job_id="job", last="job.1.0", expires_at=DUE)
SECOND = msgspec.structs.replace(FIRST, last="job.2.0", ended_before="job.1.0", skips_from=7, revision=2)


@pytest.fixture
def turnstiles(world: World) -> Turnstiles:
    return world.turnstiles


def found(turnstiles: Turnstiles) -> object:
    return turnstiles.get("job")[1]


def test_a_turnstile_is_read_as_it_was_put(turnstiles: Turnstiles) -> None:
    assert turnstiles.get("job") == (None, None)
    assert turnstiles.put(None, FIRST)
    assert turnstiles.get("job")[0] == FIRST
    assert turnstiles.put(found(turnstiles), SECOND)
    assert turnstiles.get("job")[0] == SECOND
    assert turnstiles.get("jo") == (None, None)


def test_only_what_was_found_is_replaced(turnstiles: Turnstiles) -> None:
    assert turnstiles.put(None, FIRST)
    before = found(turnstiles)
    assert not turnstiles.put(None, SECOND)
    assert turnstiles.put(before, SECOND)
    assert not turnstiles.put(before, msgspec.structs.replace(SECOND, last="job.9.0"))
    assert turnstiles.get("job")[0] == SECOND


def test_a_put_whose_answer_was_lost_is_done_when_it_is_repeated(turnstiles: Turnstiles) -> None:
    assert [turnstiles.put(None, FIRST) for _ in range(2)] == [True, True]
    before = found(turnstiles)
    assert [turnstiles.put(before, SECOND) for _ in range(2)] == [True, True]


def test_of_several_at_once_one_is_kept(turnstiles: Turnstiles) -> None:
    turnstiles.put(None, FIRST)
    wanted = [msgspec.structs.replace(SECOND, last=f"job.{number}.0") for number in (2, 3, 4)]
    won = at_once(*(partial(turnstiles.put, found(turnstiles), one) for one in wanted))
    assert won.count(True) == 1
    assert turnstiles.get("job")[0] == wanted[won.index(True)]


def test_a_turnstile_is_no_execution(world: World) -> None:
    world.turnstiles.put(None, FIRST)
    assert list(world.executions.list("job", 10, None)) == []
    assert list(world.executions.between("job", "a", "z", 10)) == []
    assert world.executions.find("job", "last") is None


@pytest.mark.parametrize(
    "damage",
    [{"B": b""}, {"B": b"\x01\xff"}, {"B": b"\xf9\x80"}, {"S": "x"}, {"M": {}}, {"NULL": True}, None],
)
def test_one_that_cannot_be_read_is_told_and_replaced_once(
    aws_world: AwsWorld, damage: dict[str, Any] | None, caplog: pytest.LogCaptureFixture
) -> None:
    item = {"jobId": {"S": "turnstile/job"}, "executionId": {"S": "last"}}
    item |= {} if damage is None else {"turnstile": damage}
    aws_world.aws.client("dynamodb").put_item(TableName=aws_world.table("executions"), Item=item)
    stile, damaged = aws_world.turnstiles.get("job")
    assert stile is None
    assert damaged is not None
    assert "cannot be read" in caplog.text
    assert not aws_world.turnstiles.put(None, FIRST) or damage is None
    won = [aws_world.turnstiles.put(damaged, one) for one in (FIRST, SECOND)]
    assert won == [True, False]
    assert aws_world.turnstiles.get("job")[0] == FIRST


def test_a_stretch_holds_both_of_its_ends_oldest_first(world: World) -> None:
    records = [
        Execution("job", f"job.{number}.0", "acme", number, State.SUCCEEDED, 1, DUE) for number in (3, 1, 4, 2, 5)
    ]
    assert all(saved.ok for saved in world.executions.save([(None, one) for one in records]))
    ids = [one.execution_id for one in world.executions.between("job", "job.2.0", "job.4.0", 10)]
    assert ids == ["job.2.0", "job.3.0", "job.4.0"]
    assert [one.due_at for one in world.executions.between("job", "job.", "job.~", 2)] == [1, 2]
    assert list(world.executions.between("job", "job.6", "job.~", 2)) == []
