"""A run of many seeds: their results come in order from processes that end with their garbage, and a death is told."""

from __future__ import annotations

import os

import pytest

from tests.simulation.__main__ import CHUNK, _results


def _square(number: int) -> tuple[int, int]:
    return os.getpid(), number * number


def _fail(number: int) -> int:
    if number == CHUNK + 1:
        os._exit(3)
    return number


def test_results_come_in_order_and_each_process_has_some() -> None:
    numbers = range(2 * CHUNK + 1)
    results = list(_results(numbers, _square, jobs=2))
    assert [square for _, square in results] == [number * number for number in numbers]
    assert len({process for process, _ in results}) == 3
    assert os.getpid() not in {process for process, _ in results}


def test_a_process_that_dies_is_told_with_its_seeds() -> None:
    with pytest.raises(RuntimeError, match=rf"the process of \[{CHUNK}, {CHUNK + 1}"):
        list(_results(range(2 * CHUNK), _fail, jobs=2))
