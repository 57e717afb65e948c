"""The contract of `ports.Checkpoints`."""

from __future__ import annotations

from functools import partial

import msgspec
import pytest

from clockwork.domain.pools.checkpoint import Checkpoint
from clockwork.ports import Checkpoints
from tests.contract.examples import DUE
from tests.contract.races import at_once
from tests.contract.worlds import World

FIRST = Checkpoint(execution_id="job.1.0", attempt=1, sequence=1, value=b'{"page":1}', expires_at=DUE)
SECOND = msgspec.structs.replace(FIRST, sequence=2, revision=2)


@pytest.fixture
def checkpoints(world: World) -> Checkpoints:
    return world.checkpoints


def test_a_checkpoint_is_read_as_it_was_put(checkpoints: Checkpoints) -> None:
    assert checkpoints.get("job.1.0") is None
    assert checkpoints.put(None, FIRST)
    assert checkpoints.get("job.1.0") == FIRST
    assert checkpoints.get("job.1") is None


def test_only_what_was_read_is_replaced(checkpoints: Checkpoints) -> None:
    assert not checkpoints.put(FIRST, SECOND)
    assert checkpoints.put(None, FIRST)
    assert not checkpoints.put(None, msgspec.structs.replace(FIRST, sequence=9))
    assert checkpoints.put(FIRST, SECOND)
    assert not checkpoints.put(FIRST, msgspec.structs.replace(SECOND, sequence=9))
    assert checkpoints.get("job.1.0") == SECOND


def test_a_put_whose_answer_was_lost_is_done_when_it_is_repeated(checkpoints: Checkpoints) -> None:
    assert [checkpoints.put(None, FIRST) for _ in range(2)] == [True, True]
    assert [checkpoints.put(FIRST, SECOND) for _ in range(2)] == [True, True]


def test_of_several_at_once_one_is_kept(checkpoints: Checkpoints) -> None:
    checkpoints.put(None, FIRST)
    wanted = [msgspec.structs.replace(SECOND, sequence=number) for number in (2, 3, 4)]
    won = at_once(*(partial(checkpoints.put, FIRST, one) for one in wanted))
    assert won.count(True) == 1
    assert checkpoints.get("job.1.0") == wanted[won.index(True)]


def test_a_checkpoint_is_no_execution(world: World) -> None:
    world.checkpoints.put(None, msgspec.structs.replace(FIRST, execution_id="job"))
    assert list(world.executions.list("job", 10, None)) == []
    assert world.executions.find("job", "last") is None
