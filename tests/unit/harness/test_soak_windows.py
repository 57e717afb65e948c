"""The verdict of a soak: it names figures that grow, windows without arrivals, and processes never measured."""

from __future__ import annotations

import random

import pytest

from tests.chaos.load import ends_ms
from tests.chaos.promises import Arrival, Key, Promise
from tests.soak.run import FAR_TAIL_SECONDS, load
from tests.soak.windows import EMULATOR, Sample, Window, growths, stretches, window, wrong

SECONDS, COUNT = 50, 5
STRETCHES = stretches(0, SECONDS, COUNT)
LATENESS = [90, 10, 12, 9, 11]
MEGABYTES = [80, 50, 52, 51, 50]


def soak(lateness: list[int], deliverer: list[int], emulator: list[int] | None = None) -> list[Window]:
    """Windows with one job each, with the job's lateness (ms) and the processes' memory (MB) in each window."""
    windows = []
    for n, (begin_at, end_at) in enumerate(STRETCHES):
        key = Key(f"j{n}", begin_at + 1)
        arrival = Arrival(key, 1, key.due_at + lateness[n], accepted=True)
        samples = [Sample(begin_at, "deliverer", deliverer[n] * 1_000_000), Sample(begin_at, "deliverer", 1)]
        samples.append(Sample(end_at - 1, EMULATOR, (emulator or MEGABYTES)[n] * 1_000_000))
        windows.append(window([Promise(key=key, acknowledged_at=0)], [arrival], {}, samples, (begin_at, end_at)))
    return windows


def test_what_stays_as_it_is_is_right_however_it_began() -> None:
    windows = soak(LATENESS, MEGABYTES)
    assert not wrong(windows, {"deliverer", EMULATOR})
    assert [growth.ratio for growth in growths(windows)] == [1.0, 1.0, 1.0]


def test_memory_that_grows_in_both_last_windows_is_wrong() -> None:
    [sentence] = wrong(soak(LATENESS, [80, 50, 60, 66, 70]), ())
    assert sentence == "memory (MB) of deliverer grew 1.32-fold, from 50 to 66; 1.25 is allowed"
    assert not wrong(soak(LATENESS, [80, 50, 60, 90, 60]), ())


def test_the_emulator_may_grow_more_but_not_without_limit() -> None:
    assert not wrong(soak(LATENESS, MEGABYTES, [100, 100, 130, 170, 200]), ())
    assert "memory (MB) of emulator grew 2.10-fold" in wrong(soak(LATENESS, MEGABYTES, [99, 100, 180, 210, 220]), ())[0]


def test_lateness_that_grows_is_wrong_and_noise_below_the_step_is_not() -> None:
    assert not wrong(soak([90, 1, 1, 9, 19], MEGABYTES), ())
    assert not wrong(soak([90, 1, 1, 500, 100], MEGABYTES), ())
    [sentence] = wrong(soak([90, 1, 50, 130, 210], MEGABYTES), ())
    assert sentence == "p50 of lateness (ms) grew 7.00-fold, from 20 to 140; 5 is allowed"


def test_a_window_in_which_nothing_arrives_is_wrong() -> None:
    windows = soak(LATENESS, MEGABYTES)
    windows[3] = window([], [], {}, [Sample(30_000, "deliverer", 50_000_000)], STRETCHES[3])
    assert "nothing was delivered in window 4" in wrong(windows, ())


def test_a_part_that_was_never_measured_is_wrong() -> None:
    assert wrong(soak(LATENESS, MEGABYTES), {"poller"}) == ["the memory of poller is not known"]


def test_too_few_windows_are_refused() -> None:
    with pytest.raises(ValueError, match="3 windows are too few"):
        growths(soak(LATENESS, MEGABYTES)[:3])


def test_a_window_holds_what_is_due_in_it_and_the_largest_process() -> None:
    promises = [Promise(key=Key("j", at), acknowledged_at=0) for at in (9_999, 10_000, 19_999, 20_000)]
    seen = window(promises, [], {}, [Sample(10_000, "api", 5), Sample(11_000, "api", 7)], STRETCHES[1])
    assert [key.due_at for key in seen.audit.lost] == [10_000, 19_999]
    assert seen.memory == {"api": 7}
    assert STRETCHES[-1] == (40_000, 50_000)


@pytest.mark.parametrize("seconds", [FAR_TAIL_SECONDS + 1, 300])
def test_the_load_of_a_soak_is_due_before_its_end(seconds: float) -> None:
    assert ends_ms(load(random.Random(3), seconds)) < seconds * 1_000
