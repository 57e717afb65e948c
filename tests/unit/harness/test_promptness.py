"""Code that is too slow by itself is found, and one run that a busy machine delays is made again."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.support.promptness import MOST_RUNS, promptly


@pytest.mark.parametrize(
    ("takes", "made"), [([3, 3, 1, 3], 3), ([1], 1), ([9] * MOST_RUNS, MOST_RUNS)], ids=["busy", "idle", "too slow"]
)
def test_a_run_is_made_again_until_it_is_in_time(
    monkeypatch: pytest.MonkeyPatch, takes: list[float], made: int
) -> None:
    now, runs = [0.0], iter(takes)
    monkeypatch.setattr("tests.support.promptness.time", SimpleNamespace(monotonic=lambda: now[0]))
    seen: list[int] = []

    def run() -> int:
        now[0] += next(runs)
        seen.append(len(seen))
        return len(seen)

    result, seconds = promptly(run, 2)
    assert (result, len(seen), seconds) == (made, made, takes[made - 1])
