"""The judge of the chaos among workers: what it lets pass, and what it tells."""

from __future__ import annotations

import pytest

from tests.chaos.fleet import Ended, Outcome, Step, wrong_steps


def steps(*runs: tuple[int, int, int], processes: int = 1) -> list[Step]:
    """The steps of one job: of attempt, from, to. The process is the attempt's own, unless there are more of them."""
    return [
        Step("job", number, attempt, 100 * attempt + number % processes, 0.0)
        for attempt, first, last in runs
        for number in range(first, last + 1)
    ]


@pytest.mark.parametrize(
    "right",
    [
        steps((1, 1, 40)),
        steps((1, 1, 12), (2, 13, 40)),
        steps((1, 1, 12), (2, 14, 40)),  # killed between a checkpoint and its line
        steps((2, 1, 40)),  # the first attempt kept nothing
        steps((2, 2, 40)),  # or was not told that it did
        steps((1, 1, 12), (3, 15, 40)),  # killed between, and not told
        [],
    ],
)
def test_work_that_goes_on_from_its_checkpoint_is_right(right: list[Step]) -> None:
    assert list(wrong_steps(right)) == []


@pytest.mark.parametrize(
    "wrong",
    [
        steps((1, 2, 40)),
        steps((1, 1, 12), (2, 12, 40)),
        steps((1, 1, 12), (2, 15, 40)),
        steps((1, 1, 12), (3, 16, 40)),
        steps((2, 3, 40)),
        steps((1, 1, 12), (2, 1, 40)),
        steps((1, 1, 5), (1, 7, 9)),
        steps((1, 1, 5), (1, 5, 9)),
        steps((1, 1, 9), processes=2),
    ],
)
def test_steps_that_are_repeated_left_out_or_shared_are_wrong(wrong: list[Step]) -> None:
    assert list(wrong_steps(wrong)) != []


def test_a_round_is_right_if_all_jobs_end_and_nothing_is_left() -> None:
    ended = {"job": Ended("SUCCEEDED", ["WORKER_LOST", "SUCCEEDED"])}
    good = Outcome(steps((1, 1, 12), (2, 13, 40)), ended, strikes=3, tickets=0)
    assert good.wrong == []
    assert good.taken_over == 1
    bad = Outcome([], {"job": Ended("DEAD", [])}, strikes=0, tickets=2)
    assert bad.wrong == ["no environment of the api was killed", "2 tickets are left", "job is DEAD"]
