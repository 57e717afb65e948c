"""The quarantine: the keys of its rows, what they name, and how often they are tried."""

from __future__ import annotations

import msgspec
import pytest

from clockwork.domain.ids import AnonymousJob, ExecutionId, NamedJobId
from clockwork.domain.keys import END, is_shard, row_key
from clockwork.domain.lifecycle.quarantine import (
    PARTS,
    STEP_MS,
    STEPS,
    QuarantinedFire,
    Untold,
    fire_in,
    group_in,
    group_of,
    is_at_end,
    is_tried,
    kept_in,
    key_of,
    quarantine_of,
    tag_of,
)
from clockwork.domain.timeline import NEVER
from tests.support.examples import NOW

KEY, OTHER = row_key(NOW, "x" * 22), row_key(NOW + 1, "y" * 22)
FIRE = str(ExecutionId(NamedJobId("acme", "daily", 3).job_id, NOW, "0"))
BY_HAND = str(ExecutionId(NamedJobId("acme", "daily", 3).job_id, NOW, "r1"))
BACKFILLED = str(ExecutionId(NamedJobId("acme", "daily", 3).job_id, NOW, "b1-_"))
ANONYMOUS = str(ExecutionId(AnonymousJob("p000", KEY, 0).job_id, NOW, "0"))
UNTOLD = Untold(KEY, "no answer", client_id="acme", holds=True)
TICK_MS = 60_000


def test_the_tag_of_a_fire_tells_all_that_its_release_is_made_of() -> None:
    assert tag_of(FIRE, 7) == f"3.7.{NOW}"
    assert fire_in(tag_of(FIRE, 7)) == QuarantinedFire(3, 7, NOW)
    assert fire_in(tag_of(BACKFILLED, 7)) == QuarantinedFire(3, 7, NOW, "b1-_")


def test_the_tag_of_a_fire_of_a_client_whose_id_was_had_before_names_it_too() -> None:
    """Its incarnation is an instant (ms)."""
    fire = str(ExecutionId(NamedJobId("acme", "daily", 1_777_975_200_001).job_id, NOW, "0"))
    assert fire_in(tag_of(fire, 7)) == QuarantinedFire(1_777_975_200_001, 7, NOW)


@pytest.mark.parametrize("execution_id", [BY_HAND, ANONYMOUS])
def test_whatever_else_has_a_tag_of_its_own(execution_id: str) -> None:
    tag = tag_of(execution_id, 7 if execution_id == BY_HAND else None)
    assert fire_in(tag) is None
    assert tag != tag_of(FIRE)


def test_no_shard_has_the_partition_of_a_quarantine() -> None:
    assert not is_shard(quarantine_of("p000"))


@pytest.mark.parametrize(("execution_id", "revision"), [(None, None), (FIRE, 7), (ANONYMOUS, None)])
def test_the_key_of_a_row_names_what_it_stands_for_and_a_repeat_is_the_same_row(
    execution_id: str | None, revision: int | None
) -> None:
    untold = msgspec.structs.replace(UNTOLD, execution_id=execution_id, revision=revision)
    tag = "" if execution_id is None else tag_of(execution_id, revision)
    assert kept_in(key_of(untold)) == (KEY, tag)
    assert key_of(untold) == key_of(msgspec.structs.replace(untold, why_not="another reason"))
    assert "acme" not in key_of(untold)


def test_the_rows_of_a_client_are_a_group_in_the_order_of_the_shard() -> None:
    later = msgspec.structs.replace(UNTOLD, key=OTHER)
    assert group_in(key_of(UNTOLD)) == group_in(key_of(later)) == UNTOLD.group
    assert UNTOLD.group < key_of(UNTOLD) < key_of(later) < UNTOLD.group + END


def test_what_holds_up_its_order_what_does_not_and_what_nobody_owns_are_groups_of_their_own() -> None:
    groups = {
        group_of("acme", KEY, holds=True),
        group_of("acme", KEY, holds=False),
        group_of("globex", KEY, holds=True),
        group_of(None, KEY, holds=False),
        group_of(None, OTHER, holds=False),
    }
    assert len(groups) == 5


@pytest.mark.parametrize(
    ("age_ms", "every"), [(-1, 1), (0, 1), (STEP_MS - 1, 1), (STEP_MS, 2), (5 * STEP_MS, 6), (10**9, STEPS)]
)
def test_what_is_there_for_long_is_tried_less_often_and_never_not_at_all(age_ms: int, every: int) -> None:
    groups = [group_of(f"client-{number}", KEY, holds=True) for number in range(200)]
    ticks = [NOW + number * TICK_MS for number in range(every)]
    tried = [[group for group in groups if is_tried(group, at - age_ms, at, TICK_MS)] for at in ticks]
    assert sorted(group for some in tried for group in some) == sorted(groups)
    # Not all in one tick.
    assert max(map(len, tried)) <= 3 * len(groups) // every


def test_a_row_is_at_its_end_in_the_last_part_of_its_life() -> None:
    kept_ms = 12_000
    ends = [is_at_end(NOW + kept_ms, NOW + kept_ms - kept_ms // PARTS - 1 + ms, kept_ms) for ms in (0, 1)]
    assert ends == [False, True]
    assert not is_at_end(NEVER, NOW, kept_ms)
