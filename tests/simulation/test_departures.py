"""The judge of deleted clients sees what starts of one, and what ends of the client that has its id now."""

from __future__ import annotations

import msgspec
import pytest

from clockwork.domain.clients import DELETED, as_gone, succeeds_at
from clockwork.domain.executions import State
from tests.simulation.departures import Departures
from tests.simulation.requests import DEPARTING
from tests.support.examples import NOW, execution

INVOCATION_MS = 60_000
ID = DEPARTING.client_id
DELETED_AT, GONE_AT = NOW, NOW + 100_000
RETURNED_AT = NOW + 200_000
DELETING = msgspec.structs.replace(DEPARTING, deleting_at=DELETED_AT)
GONE = as_gone(DELETING, GONE_AT)
ANEW = msgspec.structs.replace(DEPARTING, since_at=succeeds_at(GONE))
ENDED = execution(State.CANCELLED, client_id=ID, reason=DELETED)


@pytest.fixture
def judge() -> Departures:
    departures = Departures(INVOCATION_MS)
    departures.changed(DEPARTING, NOW - 10**6)
    return departures


def test_an_invocation_goes_by_the_client_as_it_was_and_the_next_one_must_not(judge: Departures) -> None:
    assert judge.start_objection(ID, NOW - 9, DELETED_AT) is None
    judge.changed(DELETING, DELETED_AT)
    assert judge.start_objection(ID, NOW - 9, DELETED_AT + INVOCATION_MS) is None
    assert judge.start_objection("another", NOW - 9, DELETED_AT + INVOCATION_MS + 1) is None
    judge.changed(GONE, GONE_AT)
    for at in (DELETED_AT + INVOCATION_MS + 1, GONE_AT + INVOCATION_MS):
        for promised_at in (None, NOW - 9):
            assert "was deleted" in str(judge.start_objection(ID, promised_at, at))


def test_under_an_id_of_before_only_that_starts_which_was_promised_since(judge: Departures) -> None:
    judge.changed(DELETING, DELETED_AT)
    assert not judge.has_returned(ID)
    judge.changed(ANEW, RETURNED_AT)
    assert judge.has_returned(ID)
    at = RETURNED_AT + INVOCATION_MS
    assert "whose id another one has" in str(judge.start_objection(ID, DELETED_AT - 1, at))
    assert judge.start_objection(ID, RETURNED_AT + 1, at) is None
    assert (judge.is_of_before(ID, DELETED_AT - 1), judge.is_of_before(ID, RETURNED_AT)) == (True, False)
    assert not judge.is_of_before("another", 0)


def test_a_client_may_be_deleted_a_second_time(judge: Departures) -> None:
    judge.changed(DELETING, DELETED_AT)
    judge.changed(ANEW, RETURNED_AT)
    again_at = RETURNED_AT + 10**6
    judge.changed(msgspec.structs.replace(ANEW, deleting_at=again_at), again_at)
    assert judge.start_objection(ID, RETURNED_AT + 1, again_at + INVOCATION_MS) is None
    assert judge.start_objection(ID, RETURNED_AT + 1, again_at + INVOCATION_MS + 1) is not None
    assert judge.is_of_before(ID, RETURNED_AT + 1)


def test_nothing_ends_as_of_a_deleted_client_but_what_was_promised_to_it(judge: Departures) -> None:
    assert "nobody deleted it" in str(judge.end_objection(ENDED, None))
    judge.changed(DELETING, DELETED_AT)
    assert judge.end_objection(ENDED, DELETED_AT - 9) is None
    judge.changed(ANEW, RETURNED_AT)
    assert judge.end_objection(ENDED, DELETED_AT - 9) is None
    assert "the one that has the id now" in str(judge.end_objection(ENDED, RETURNED_AT + 1))
    assert judge.end_objection(ENDED.changed(reason="another"), RETURNED_AT + 1) is None
