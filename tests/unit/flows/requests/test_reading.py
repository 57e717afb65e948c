"""Reads at a pace: what one api environment lets in, and what all of them together read of one client."""

from __future__ import annotations

import pytest

from clockwork.domain.errors import PartitionThrottled, TooManyRequests
from clockwork.domain.requests.reading import API_ENVIRONMENTS, PARTITION_UNITS, Kind
from clockwork.flows.requests import reading
from clockwork.flows.requests.reading import Reading
from clockwork.flows.world import World
from clockwork.memory.world import MemoryClockwork
from clockwork.settings import Settings

#: Read units of a job of 256 KB.
LARGE = 64


class Environments:
    """`count` environments of the api of an account, each with what it remembers."""

    def __init__(self, count: int = 1) -> None:
        self.clockwork = MemoryClockwork(Settings.for_account())
        self.all = [Reading() for _ in range(count)]

    @property
    def world(self) -> World:
        return self.clockwork.world

    def ask(self, units: int, number: int = 0, kind: Kind = Kind.LOOK, client_id: str = "acme") -> int:
        """Make a request that reads so much; returns the seconds that it is told to wait, 0 if it was let in."""
        environment = self.all[number]
        environment.begin(self.world)
        try:
            environment.admit(self.world, kind, [client_id])
            self.world.environment.meter.read("jobs", client_id, units)
        except TooManyRequests as refused:
            return refused.retry_after_seconds
        finally:
            environment.settle(self.world)
        return 0


@pytest.mark.long
@pytest.mark.parametrize("units", [8, LARGE, 250, 1_000])
def test_fifty_environments_together_read_no_more_of_a_client_than_half_of_its_partition(units: int) -> None:
    api = Environments(API_ENVIRONMENTS)
    read, by_minute = 0, []
    for _ in range(5):
        before = read
        for _ in range(60 * 4):  # each of them is asked, looks and changes in turn, for as long as it lets in
            for number in range(API_ENVIRONMENTS):
                for kind in (Kind.LOOK, Kind.CHANGE):
                    while api.ask(units, number, kind) == 0:
                        read += units
            api.clockwork.clock.at += 250
        by_minute.append((read - before) / 60)
    assert max(by_minute[2:]) <= PARTITION_UNITS / 2 + API_ENVIRONMENTS * 2 * units / 60
    assert by_minute[0] < PARTITION_UNITS / 2 + API_ENVIRONMENTS * (250 + 300 + 2 * units) / 60 + 1
    assert sum(by_minute) / 5 <= PARTITION_UNITS / 2 + API_ENVIRONMENTS * (250 + 300 + 2 * units) / 300


def test_one_environment_reads_a_burst_and_then_its_share_and_says_when_to_come_again() -> None:
    api = Environments()
    let_in = 0
    while (wait := api.ask(LARGE)) == 0:
        let_in += 1
    assert (let_in, wait) == (4, 1)  # 256 units: six more than ten seconds of 25
    api.clockwork.clock.at += 1000 * wait
    assert api.ask(1_000) == 0  # more than there is: it is let in, and the next one waits
    assert api.ask(1) == 40
    api.clockwork.clock.at += 40_000
    assert api.ask(1) == 0


def test_a_clock_that_was_set_back_holds_nobody_up_for_longer() -> None:
    api = Environments()
    assert api.ask(500) == 0
    api.clockwork.clock.at -= 3_600_000
    assert api.ask(1) == 10
    api.clockwork.clock.at += 10_000
    assert api.ask(1) == 0


def test_reads_take_nothing_from_changes_and_clients_nothing_from_each_other() -> None:
    api = Environments()
    assert api.ask(100_000) == 0
    assert api.ask(1) > 0
    assert api.ask(1, kind=Kind.CHANGE) == 0
    assert api.ask(1, client_id="globex") == 0


def test_a_caller_of_two_clients_is_let_in_by_the_one_that_has_room_and_that_one_pays() -> None:
    api = Environments()
    for _ in range(2):
        api.all[0].begin(api.world)
        api.all[0].admit(api.world, Kind.LOOK, ["acme", "globex"])
        api.world.environment.meter.read("timeline", "p001", 1_000)
        api.all[0].settle(api.world)
    with pytest.raises(TooManyRequests) as refused:
        api.all[0].admit(api.world, Kind.LOOK, ["acme", "globex"])
    assert refused.value.retry_after_seconds == 30
    assert [api.all[0].debt(api.world, Kind.LOOK, one).units for one in ("acme", "globex")] == [1_000, 1_000]


def test_an_admin_is_never_refused_and_the_client_pays() -> None:
    api = Environments()
    for _ in range(3):
        api.all[0].begin(api.world)
        api.all[0].admit(api.world, Kind.LOOK, ["acme"], refuses=False)
        api.world.environment.meter.read("jobs", "acme", 300)
        api.all[0].settle(api.world)
    assert api.ask(1) == 26


def test_debts_are_bounded_and_the_largest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_DEBTS", 100)
    api = Environments()
    api.ask(9_000, client_id="greedy")
    for number in range(1_000):
        api.ask(1, client_id=f"c{number}")
    assert len(api.all[0]._debts) <= 100
    assert api.ask(1, client_id="greedy") > 0


def test_a_throttled_partition_is_told_to_its_client_and_left_alone_for_a_while() -> None:
    api = Environments()
    api.all[0].begin(api.world)
    api.all[0].admit(api.world, Kind.LOOK, ["acme"])
    told = api.all[0].throttled(api.world, PartitionThrottled("throttled"))
    api.all[0].settle(api.world)
    assert isinstance(told, TooManyRequests)
    assert told.retry_after_seconds == 2
    assert api.ask(1) == 2
    assert api.ask(1, client_id="globex") == 0
    api.clockwork.clock.at += 2_000
    assert api.ask(1) == 0


def test_a_throttle_that_concerns_no_client_stays_an_outage() -> None:
    api = Environments()
    api.all[0].begin(api.world)
    fault = PartitionThrottled("throttled")
    assert api.all[0].throttled(api.world, fault) is fault
