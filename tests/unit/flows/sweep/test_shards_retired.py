"""Retiring shards: given-up plain shards drain, then leave the registry; a shard that holds a row is not retired."""

from __future__ import annotations

import pytest

from clockwork.domain.errors import Unavailable
from clockwork.domain.keys import ordered_partitions, plain_partitions
from clockwork.domain.named.changes import replaced
from clockwork.domain.named_jobs import Definition
from clockwork.domain.policies import RecordLevel
from clockwork.domain.timeline import ShardStatus
from clockwork.flows.access import identify, require_known
from clockwork.flows.named.trigger import run_now
from clockwork.flows.named.write import NamedRequest, change, create_named
from clockwork.flows.poll.tick import tick
from clockwork.flows.requests.cancel import cancel_job
from clockwork.flows.sweep.shards import Retirements
from clockwork.flows.timeline.shards import all_shards, check_shards, ensure_shards
from tests.support.examples import ACME, ALICE, NOW, TARGET, new_job
from tests.support.shrinking import GIVEN_UP, Shrinking


def test_drained_shards_leave_the_registry_and_are_polled_no_more() -> None:
    shrinking = Shrinking()
    assert shrinking.remove() == Retirements(removed=4)
    assert [shard.partition_id for shard in all_shards(shrinking.after)] == list(plain_partitions(2))
    assert tick(shrinking.after).started == 2
    assert shrinking.remove() == Retirements()


def test_a_shard_that_holds_a_job_is_kept_until_that_is_delivered() -> None:
    shrinking = Shrinking()
    job = shrinking.create(shrinking.before, GIVEN_UP, 300_000)
    assert shrinking.remove() == Retirements(removed=3, kept=1)
    assert (shrinking.status(GIVEN_UP), shrinking.status("p004")) == (ShardStatus.USED, ShardStatus.LEFT)
    assert shrinking.delivered() == [job.job_id]
    assert shrinking.remove() == Retirements(removed=1)


def test_nothing_is_written_for_a_shard_that_plainly_holds_something(monkeypatch: pytest.MonkeyPatch) -> None:
    shrinking = Shrinking()
    for partition_id in plain_partitions(6):
        shrinking.create(shrinking.before, partition_id, 300_000)
    monkeypatch.setattr(shrinking.clockwork.shards, "change", lambda *_: pytest.fail("written"))
    assert shrinking.remove() == Retirements(kept=4)


def test_shards_within_the_setting_and_ordered_ones_never_leave() -> None:
    shrinking = Shrinking()
    check_shards(shrinking.before, ordered_partitions(2))
    assert shrinking.remove(shrinking.before) == Retirements()
    shrinking.remove()
    assert {shrinking.status(one) for one in ("p000", "p001", "o000", "o001")} == {ShardStatus.USED}


def test_an_api_of_the_deployment_before_brings_back_a_shard_that_has_left() -> None:
    shrinking = Shrinking()
    shrinking.remove()
    job = shrinking.create(shrinking.before, GIVEN_UP, 300_000)
    assert shrinking.status(GIVEN_UP) is ShardStatus.USED
    assert shrinking.remove() == Retirements(kept=1)
    assert shrinking.delivered() == [job.job_id]


@pytest.mark.parametrize("record", ["none", "full"])
def test_a_shard_that_comes_back_goes_on_where_it_was(record: RecordLevel) -> None:
    shrinking = Shrinking()
    first = shrinking.create(shrinking.before, GIVEN_UP, 5_000, record)
    shrinking.clockwork.run_until(NOW + 200_000)
    shrinking.remove()
    grown = shrinking.before
    assert GIVEN_UP in ensure_shards(grown)
    assert shrinking.status(GIVEN_UP) is ShardStatus.USED
    second = shrinking.create(grown, GIVEN_UP, 5_000, record)
    assert shrinking.delivered() == [first.job_id, second.job_id]


def test_a_job_in_a_shard_that_is_given_up_is_cancelled_like_any_other() -> None:
    shrinking = Shrinking()
    job = shrinking.create(shrinking.before, GIVEN_UP, 300_000)
    caller = require_known(shrinking.after, identify(shrinking.after, ALICE))
    cancel_job(shrinking.after, caller, job.job_id)
    assert shrinking.delivered() == []


def test_a_named_job_leaves_with_its_next_change_and_until_then_brings_its_shard_back() -> None:
    shrinking = Shrinking()
    at = NOW + 600_000
    definition = Definition(target=TARGET, payload=new_job().payload, at=at)
    wish = NamedRequest(client=ACME, job_key="k", as_sent=b"{}", definition=definition)
    job = create_named(shrinking.before, wish, [GIVEN_UP]).job
    assert shrinking.remove().kept == 1
    assert run_now(shrinking.after, job, None)
    assert create_named(shrinking.after, wish, plain_partitions(2)).job == job
    moved = change(shrinking.after, job, None, replaced(definition, b"{}")).job
    assert moved.partition_id in plain_partitions(2)
    delivered = shrinking.delivered()
    assert len(delivered) == len(set(delivered)) + 1 == 2
    assert shrinking.remove() == Retirements(removed=1)


def test_a_shard_whose_standing_cannot_be_written_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> bool:
        raise Unavailable("throttled")

    shrinking = Shrinking()
    monkeypatch.setattr(shrinking.clockwork.shards, "change", fail)
    assert shrinking.remove() == Retirements(kept=4)


def test_nothing_is_promised_while_a_shard_cannot_be_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    shrinking = Shrinking()
    shrinking.remove()
    monkeypatch.setattr(shrinking.clockwork.shards, "change", lambda *_: False)
    with pytest.raises(Unavailable):
        shrinking.create(shrinking.before, GIVEN_UP, 300_000)
