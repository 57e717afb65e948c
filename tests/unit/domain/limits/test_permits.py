"""Concurrency limits as pure decisions: how many blocks there are, and how long who finds none waits."""

from __future__ import annotations

import msgspec
import pytest

from clockwork.domain.limits.concurrency import (
    BLOCK,
    LONGEST_NO_PERMIT_MS,
    NO_PERMIT_MS,
    Blocks,
    blocks_of,
    limit_of,
    share_of,
    wait_ms,
)
from tests.support.examples import ACME


@pytest.mark.parametrize(
    ("cap", "blocks"),
    [
        (1, Blocks(1, 1)),
        (9, Blocks(1, 9)),
        (10, Blocks(1, BLOCK)),
        (19, Blocks(1, BLOCK)),
        (20, Blocks(2, BLOCK)),
        (1_000, Blocks(100, BLOCK)),
    ],
)
def test_the_blocks_of_a_limit_never_hold_more_permits_than_it_allows(cap: int, blocks: Blocks) -> None:
    assert blocks_of(cap) == blocks
    assert limit_of(msgspec.structs.replace(ACME, max_concurrency=cap)) == blocks


def test_a_client_without_a_limit_has_no_blocks_of_its_own() -> None:
    assert limit_of(ACME) is None
    assert limit_of(None) is None


@pytest.mark.parametrize(("deliverers", "crowding", "count"), [(100, 1, 75), (100, 2, 37), (100, 76, 1), (1, 1, 1)])
def test_those_that_crowd_share_alike_what_is_not_left_free(deliverers: int, crowding: int, count: int) -> None:
    assert share_of(deliverers, crowding) == Blocks(count, None)


def test_each_wait_for_a_permit_is_longer_than_the_one_before_up_to_the_longest() -> None:
    assert [wait_ms(waits, 0.0) for waits in (0, 1, 2, 10, 29)] == [1_000, 1_150, 1_322, 4_045, 57_575]
    assert [wait_ms(waits, 0.0) for waits in (30, 40, 10**6)] == [LONGEST_NO_PERMIT_MS] * 3


def test_a_wait_for_a_permit_is_drawn_between_one_and_two_times_as_long() -> None:
    assert [wait_ms(0, fraction) for fraction in (0.0, 0.5, 1.0)] == [NO_PERMIT_MS, 1_500, 2 * NO_PERMIT_MS]
