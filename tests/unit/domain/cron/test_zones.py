"""Zones as runs of constant offset, compared with zoneinfo read in another way."""

from datetime import datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from clockwork.domain.cron.zones import Offset, offset_at
from tests.unit.domain.cron.exhaustive import distinct_zones
from tests.unit.domain.cron.oracle import changes_of_offset


def runs(zone: str, first: int, last: int) -> list[Offset]:
    found = [offset_at(zone, first)]
    while found[-1].ends < last:
        found.append(offset_at(zone, found[-1].ends))
    return found


@pytest.mark.parametrize("zone", ["America/New_York", "Africa/Casablanca", "Asia/Gaza", "Antarctica/Casey", "UTC"])
def test_every_change_of_offset_is_a_boundary_of_runs(zone: str) -> None:
    start, end = 946_684_800, 2_177_452_800
    found = [later.starts for earlier, later in pairwise(runs(zone, start, end)) if earlier.offset != later.offset]
    assert [change for change in found if start <= change < end] == changes_of_offset(zone, 2000, 2038)


@pytest.mark.long
def test_the_offset_is_zoneinfos_in_every_zone_at_odd_instants() -> None:
    for zone in distinct_zones():
        info = ZoneInfo(zone)
        for second in range(1_000_003, 4_000_000_000, 697_000_003):
            offset = datetime.fromtimestamp(second, info).utcoffset()
            assert offset is not None
            assert offset_at(zone, second).offset == offset.total_seconds(), (zone, second)


def test_changes_of_offset_are_far_enough_apart_for_the_search() -> None:
    closest = min(
        later - earlier
        for zone in ("America/Recife", "America/Noronha", "America/Boa_Vista", "America/Argentina/Tucuman")
        for earlier, later in pairwise(changes_of_offset(zone, 1999, 2005))
    )
    assert closest == 167 * 3600


def test_a_shift_is_told_from_both_sides() -> None:
    change = changes_of_offset("America/New_York", 2026, 2026)[1]
    before, after = offset_at("America/New_York", change - 1), offset_at("America/New_York", change)
    assert (before.ends, after.starts) == (change, change)
    assert before.repeated_from == change - 5 * 3600
    assert after.repeats_until == change - 4 * 3600
    assert after.skipped_from == after.starts + after.offset
