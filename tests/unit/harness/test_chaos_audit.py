"""The audit of chaos and soak finds lost, early, duplicate, unpromised and out-of-order deliveries."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from tests.chaos.audit import audit, faults
from tests.chaos.load import EVERY_SECONDS, FIRES, MIX, Kind, ends_ms, fires_of, plan, request_of
from tests.chaos.promises import CANCELLED, Arrival, Key, Promise, arrival_of

DUE_AT = 1_000_000
KEY = Key("j1", DUE_AT)
PROMISE = Promise(key=KEY, acknowledged_at=DUE_AT - 5_000)
ON_TIME = Arrival(KEY, 1, DUE_AT + 3, accepted=True)


def judge(
    promises: Sequence[Promise],
    arrivals: Sequence[Arrival],
    ends: Mapping[Key, str] | None = None,
    *,
    may_repeat: bool = False,
) -> str:
    return "; ".join(faults(audit(promises, arrivals, ends or {}), may_repeat=may_repeat))


def test_what_arrives_once_and_on_time_is_right() -> None:
    seen = audit([PROMISE], [ON_TIME], {})
    assert (seen.occurrences, seen.delivered, seen.attempts, seen.lateness_ms) == (1, 1, 1, [3])
    assert not faults(seen, may_repeat=False)


def test_a_job_that_never_arrives_is_lost() -> None:
    assert judge([PROMISE], []) == "1 lost: j1 due 1000000"


def test_a_job_whose_attempts_were_all_refused_is_lost_unless_the_api_says_how_it_ended() -> None:
    refused = replace(ON_TIME, accepted=False)
    assert "1 lost" in judge([PROMISE], [refused])
    assert "1 lost" in judge([PROMISE], [refused], {KEY: "RUNNING"})
    assert (
        judge([PROMISE], [refused], {KEY: "DEAD"}) == "1 ended otherwise than its target would have it: j1 due 1000000"
    )
    assert not judge([replace(PROMISE, hopeless=True)], [refused], {KEY: "DEAD"})


def test_a_hopeless_job_that_does_not_end_is_lost_and_one_that_is_delivered_is_wrong() -> None:
    assert "1 lost" in judge([replace(PROMISE, hopeless=True)], [])
    assert "1 ended otherwise" in judge([replace(PROMISE, hopeless=True)], [ON_TIME])


@pytest.mark.parametrize("accepted", [True, False])
def test_an_attempt_one_millisecond_before_the_due_instant_is_early(accepted: bool) -> None:
    early = Arrival(KEY, 1, DUE_AT - 1, accepted)
    assert "1 early" in judge([PROMISE], [early, ON_TIME], may_repeat=True)
    assert "early" not in judge([PROMISE], [replace(early, at=DUE_AT), ON_TIME], may_repeat=True)


def test_a_cancelled_job_may_not_be_attempted_and_one_cancelled_too_late_may() -> None:
    cancelled = replace(PROMISE, cancel=CANCELLED)
    assert not judge([cancelled], [])
    assert "1 delivered although cancelled" in judge([cancelled], [replace(ON_TIME, accepted=False)])
    for answer in ("running", "too_late"):
        assert not judge([replace(PROMISE, cancel=answer)], [ON_TIME])
        assert not judge([replace(PROMISE, cancel=answer)], [])


def test_duplicates_are_counted_by_record_level_and_excused_at_full_only_by_the_fault() -> None:
    other = Promise(key=Key("j2", DUE_AT), acknowledged_at=0, record="none")
    twice = [ON_TIME, replace(ON_TIME, attempt=2), *[replace(ON_TIME, key=other.key)] * 2]
    seen = audit([PROMISE, other], twice, {})
    assert seen.duplicates == {"none": [other.key], "full": [KEY]}
    assert seen.repeated == 2
    assert "1 accepted twice at level full" in judge([PROMISE, other], twice)
    assert not judge([PROMISE, other], twice, may_repeat=True)


def test_a_retry_after_a_refusal_is_no_duplicate() -> None:
    assert not judge([PROMISE], [replace(ON_TIME, accepted=False), replace(ON_TIME, attempt=2)])


def test_what_nobody_was_promised_may_not_arrive() -> None:
    assert "1 delivered though nobody was promised it: j1 due 999999" in judge(
        [PROMISE], [ON_TIME, replace(ON_TIME, key=Key("j1", DUE_AT - 1))]
    )


def test_a_fire_that_is_not_sure_may_be_missing() -> None:
    unsure = replace(PROMISE, sure=False)
    assert not judge([unsure], [])
    assert audit([unsure], [], {}).occurrences == 0


def test_what_begins_before_its_predecessor_was_accepted_is_out_of_order_if_it_was_promised_in_time() -> None:
    first, second = (replace(PROMISE, key=Key(f"j{n}", DUE_AT + n), ordering_key="k") for n in (1, 2))
    begun, accepted = (Arrival(first.key, n, DUE_AT + 100 * n, accepted=n == 2) for n in (1, 2))
    too_soon = Arrival(second.key, 1, DUE_AT + 150, accepted=True)
    assert judge([first, second], [begun, accepted, too_soon]) == "1 out of order: j2 due 1000002"
    assert not judge([first, second], [begun, accepted, replace(too_soon, at=DUE_AT + 200)])
    assert not judge([first, replace(second, ordering_key="other")], [begun, accepted, too_soon])
    assert not judge([first, replace(second, acknowledged_at=DUE_AT - 500)], [begun, accepted, too_soon])


def test_lateness_is_that_of_the_first_attempt_after_due_or_promised() -> None:
    late = replace(PROMISE, acknowledged_at=DUE_AT + 100)
    arrivals = [replace(ON_TIME, at=DUE_AT + 140, accepted=False), replace(ON_TIME, at=DUE_AT + 900)]
    assert audit([late], arrivals, {}).lateness_ms == [40]
    assert audit([late], [ON_TIME], {}).lateness_ms == [0]


def test_an_arrival_is_read_as_the_target_wrote_it() -> None:
    line: dict[str, str | int] = {
        "jobId": "j1",
        "dueAt": "1970-01-01T00:16:40.000Z",
        "attempt": 2,
        "at": 5,
        "status": 503,
    }
    assert arrival_of(line) == Arrival(KEY, 2, 5, accepted=False)


def test_twenty_requests_have_the_mix_and_the_last_due_instant_is_known() -> None:
    asks = plan(random.Random(1), seconds=10, per_second=2, delays_ms=(1_000, 1_001))
    assert {kind: sum(ask.kind is kind for ask in asks) for kind in Kind} == MIX
    dues = [at for ask in asks for job in request_of(ask, "http://h", "n", ask.offset_ms).dues for at in job]
    assert max(dues) == ends_ms(asks)


def test_a_recurring_job_that_is_accepted_late_may_leave_fires_out_and_make_up_for_them() -> None:
    step = EVERY_SECONDS * 1_000
    dues = [DUE_AT + n * step for n in range(FIRES)]
    assert fires_of(Kind.RECURRING, dues, DUE_AT - 1) == [(at, True) for at in dues]
    assert fires_of(Kind.FULL, dues[:1], DUE_AT + 1) == [(DUE_AT, True)]
    late = fires_of(Kind.RECURRING, dues, DUE_AT + step)
    assert late[:3] == [(DUE_AT, False), (DUE_AT + step, False), (DUE_AT + 2 * step, True)]
    assert late[FIRES:] == [(dues[-1] + step, False), (dues[-1] + 2 * step, False)]
