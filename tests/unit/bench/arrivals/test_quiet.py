"""Figures that depend on the load of the machine are not published while others load it."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from bench import cold_start, cpu, lateness, sdk, throughput
from bench.arrivals import quiet
from bench.arrivals.quiet import QUIET_CORES, refuse_busy

BY_TIME = (cold_start, cpu, lateness, sdk, throughput)


def busy(monkeypatch: pytest.MonkeyPatch, *cores: float) -> None:
    """As many cores are busy, second by second; the last of them from then on."""
    seconds, seen = iter(range(1_000)), iter(cores)
    monkeypatch.setattr(quiet, "busy_cores", lambda: next(seen, cores[-1]))
    monkeypatch.setattr("time.sleep", lambda _: None)
    monkeypatch.setattr("time.monotonic", lambda: next(seconds))


@pytest.mark.parametrize("bench", BY_TIME)
def test_a_bench_refuses_to_publish_on_a_busy_machine_before_it_measures(
    bench: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy(monkeypatch, QUIET_CORES)
    page = Path("docs/performance.md").read_bytes()
    with pytest.raises(SystemExit) as ended:
        bench.main(["--docs", "--json"])
    assert "others keep 0.5 cores busy" in str(ended.value.code)
    assert Path("docs/performance.md").read_bytes() == page


def test_a_machine_that_gets_quiet_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    busy(monkeypatch, 2.0, 0.6, QUIET_CORES - 0.1)
    refuse_busy()
