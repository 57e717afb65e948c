"""The CPU of deployed Lambdas: what counts as theirs, and what ended before it was read."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bench import deployed
from bench.deployed import Meter, Result

BURNS = "import time\nwhile time.process_time() < {}: pass\nprint(flush=True)\nimport sys; sys.stdin.read()"


@contextmanager
def burning(seconds: float) -> Iterator[subprocess.Popen[str]]:
    """A process that has used so much CPU, and then waits."""
    with subprocess.Popen(
        [sys.executable, "-c", BURNS.format(seconds)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield process
        finally:
            process.stdin.close()


def test_cpu_counts_from_the_beginning_and_of_new_processes_whole() -> None:
    with burning(0.3) as before, burning(0.2) as later:
        living = {"api": [before.pid]}
        meter = Meter(lambda: living)
        meter.begin()
        assert meter.used() == {"api": pytest.approx(0, abs=0.03)}
        living["poller"] = [later.pid]
        assert meter.used() == {"api": pytest.approx(0, abs=0.03), "poller": pytest.approx(0.2, abs=0.06)}
        assert meter.started() == 1


def test_a_process_that_has_ended_keeps_what_it_used() -> None:
    living: dict[str, list[int]] = {"api": []}
    meter = Meter(lambda: living)
    meter.begin()
    with burning(0.2) as process:
        living["api"] = [process.pid]
        meter.look()
    time.sleep(0.01)
    living["api"] = []
    assert meter.used()["api"] == pytest.approx(0.2, abs=0.06)


def test_the_result_has_each_lambda_and_their_sum() -> None:
    told = Result({"api": 2.0, "poller": 0.5}, 9.0, 3, 0, 0).as_json()
    assert told == {
        "lambdasMs": 2.5,
        "byLambdaMs": {"api": 2.0, "poller": 0.5},
        "emulatorMs": 9.0,
        "environmentsStarted": 3,
        "lost": 0,
        "twice": 0,
    }
    assert "| all Lambdas | 2.50 |" in deployed.page(Result({"api": 2.0, "poller": 0.5}, 9.0, 3, 0, 0))


@pytest.mark.parametrize(("lost", "twice", "status"), [(0, 0, 0), (1, 0, 1), (0, 1, 1)])
def test_a_job_that_is_lost_or_comes_twice_fails_the_command(
    lost: int, twice: int, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deployed, "measure", lambda _: Result({"api": 1.0}, 1.0, 0, lost, twice))
    with pytest.raises(SystemExit) as ended:
        deployed.main(["--json"])
    assert ended.value.code == status
