"""The receiver notes each request when it comes and when it is answered, and takes its time with long jobs."""

from __future__ import annotations

import time

import pytest
import urllib3

from bench.rivals.judging.load import Job
from bench.rivals.running import receiver as receiving
from bench.rivals.running.receiver import RunReceiver


def test_runs_of_a_job_are_told_apart_and_a_long_one_is_answered_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receiving, "LONG_SECONDS", 0.3)
    before = time.time_ns() / 1_000_000
    with RunReceiver() as receiver, urllib3.PoolManager() as pool:
        for job in (Job(1, 0), Job(1, 0), Job(2, 0, is_long=True)):
            assert pool.request("POST", receiver.url(job)).status == 200
        runs = receiver.runs([1, 2, 3])
    assert runs.keys() == {1, 2}
    (first, second), (late,) = runs[1], runs[2]
    assert first.answered_at is not None
    assert late.answered_at is not None
    assert before <= first.began_at <= first.answered_at <= second.began_at <= late.began_at
    assert late.answered_at - late.began_at >= 300


def test_a_run_that_is_not_answered_yet_has_no_end() -> None:
    receiver = RunReceiver()
    receiver._begin(7, 5.0)
    assert [(run.began_at, run.answered_at) for run in receiver.runs([7])[7]] == [(5.0, None)]
    receiver.server_close()
