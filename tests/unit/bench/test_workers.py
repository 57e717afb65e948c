"""The bounds of `bench.workers`: each says by itself that it does not hold."""

from __future__ import annotations

from typing import Any

import pytest

from bench.workers import broken

HOLDS: dict[str, Any] = {
    "takeoverSeconds": 64.0,
    "leaseSeconds": 60,
    "drainSeconds": 1.9,
    "lowShare": 0.0923,
    "floodedP99Ms": 100.0,
    "aloneP99Ms": 9.0,
    "lost": 0,
    "duplicates": 0,
}


def test_what_is_within_all_bounds_is_not_broken() -> None:
    assert broken(HOLDS) == []
    assert broken({**HOLDS, "aloneP99Ms": 70.0, "floodedP99Ms": 140.0}) == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("takeoverSeconds", 65.1),
        ("drainSeconds", 2.1),
        ("lowShare", 0.0924),
        ("lowShare", 0.061),
        ("floodedP99Ms", 100.1),
        ("lost", 1),
        ("duplicates", 1),
    ],
)
def test_each_bound_is_told_by_its_key(key: str, value: float) -> None:
    (sentence,) = broken({**HOLDS, key: value})
    assert sentence.startswith(f"{key} is {value}, ")
