"""The contract of `ports.Regulation` for the number of jobs that a client may create on a day."""

from __future__ import annotations

from functools import partial

import pytest

from clockwork.ports import Regulation
from tests.contract.races import at_once
from tests.contract.worlds import AwsWorld, World

DAY = 20_000


@pytest.fixture
def regulation(world: World) -> Regulation:
    return world.regulation


def test_jobs_are_counted_up_to_the_days_and_not_beyond(regulation: Regulation) -> None:
    assert [regulation.count_created("acme", DAY, 40, 100) for _ in range(3)] == [True, True, False]
    assert regulation.count_created("acme", DAY, 20, 100)
    assert not regulation.count_created("acme", DAY, 1, 100)


def test_more_than_a_whole_days_jobs_are_refused_on_a_fresh_day(regulation: Regulation) -> None:
    assert not regulation.count_created("acme", DAY, 101, 100)
    assert regulation.count_created("acme", DAY, 100, 100)


def test_each_day_and_each_client_has_a_count_of_its_own(regulation: Regulation) -> None:
    for client_id, day in (("acme", DAY), ("acme", DAY + 1), ("globex", DAY)):
        assert regulation.count_created(client_id, day, 100, 100)


def test_a_cap_that_was_raised_counts_from_the_next_request_on(regulation: Regulation) -> None:
    assert regulation.count_created("acme", DAY, 100, 100)
    assert regulation.count_created("acme", DAY, 1, 101)


def test_environments_at_once_count_no_more_than_the_days_jobs(aws_world: AwsWorld) -> None:
    counted: list[bool] = []
    regulation = aws_world.regulation

    def count() -> None:
        counted.append(regulation.count_created("acme", DAY, 30, 100))

    at_once(*(partial(count) for _ in range(6)))
    assert sum(counted) == 3


def test_a_days_count_goes_when_the_day_is_over(aws_world: AwsWorld) -> None:
    aws_world.regulation.count_created("acme", DAY, 1, 100)
    (item,) = aws_world.raw("clients")
    assert int(item["expiresAt"]["N"]) == (DAY + 2) * 86_400


def test_the_jobs_of_a_day_can_be_asked_for(regulation: Regulation) -> None:
    assert regulation.created("acme", 7) == 0
    regulation.count_created("acme", 7, 3, 10)
    regulation.count_created("acme", 7, 2, 10)
    regulation.count_created("acme", 7, 9, 10)
    regulation.count_created("acme", 8, 1, 10)
    regulation.count_created("globex", 7, 1, 10)
    assert (regulation.created("acme", 7), regulation.created("acme", 8)) == (5, 1)
