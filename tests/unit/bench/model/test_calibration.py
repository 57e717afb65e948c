"""The calibration of the model: it fails where a prediction is off, and where a wrong constant would not be noticed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest

from bench import capacity
from bench.arrivals.calibrating import median_ms, percentiles
from bench.arrivals.lateness_jobs import BEYOND, STEADY, Load
from bench.model.calibration import (
    BOUNDS,
    FACTORS,
    MEASURED,
    NOT_SHOWN,
    Calibration,
    Measured,
    broken,
    calibrate,
    errors_of,
    measured_from,
    predict,
    relative_error,
    scaled,
)
from bench.model.limits import EMULATOR
from bench.model.starts import Starts, measure_starts, starts_of

STARTS = Starts(1.1, 0.57)
LIMITS = replace(EMULATOR, first_start_ms=STARTS.first_ms, next_start_ms=STARTS.next_ms)
CALLED = ("write", "query", "send", "target", "server_ms", "record_ms_per_job", "poller_ms_per_job")
CALLS = {name: value if isinstance(value := getattr(LIMITS, name), float) else value.p50 for name in CALLED}


@pytest.fixture(scope="module")
def agreeing() -> Measured:
    """A machine that is as the model says."""
    return Measured(predict(Load(), LIMITS), CALLS, Load())


def off(measured: Measured, part: str, factor: float) -> Measured:
    late: Mapping[str, Mapping[str, float]] = {
        **measured.late_ms,
        part: {name: ms * factor for name, ms in measured.late_ms[part].items()},
    }
    return replace(measured, late_ms=late)


def test_a_machine_that_is_as_the_model_says_is_predicted(agreeing: Measured) -> None:
    calibration = calibrate(agreeing, STARTS)
    assert calibration.holds
    assert set(calibration.errors) == set(BOUNDS)
    assert max(calibration.errors.values()) == 0


@pytest.mark.parametrize("name", MEASURED)
@pytest.mark.parametrize("factor", FACTORS)
def test_no_constant_can_be_doubled_or_a_third_unnoticed(agreeing: Measured, name: str, factor: float) -> None:
    wrong = scaled(LIMITS, name, factor)
    assert broken(errors_of(predict(Load(), wrong), wrong, agreeing))


@pytest.mark.parametrize(
    ("part", "name"), [(STEADY, "p50"), (STEADY, "p99"), ("late", "lateCreates"), (BEYOND, "herd")]
)
def test_lateness_that_differs_breaks_its_bound(agreeing: Measured, part: str, name: str) -> None:
    errors = calibrate(off(agreeing, part, 0.4), STARTS).errors
    assert errors[name] > BOUNDS[name]
    assert not Calibration(errors, {}).holds


def test_what_is_off_in_any_case_does_not_count_as_noticing_a_constant(agreeing: Measured) -> None:
    calibration = calibrate(replace(off(agreeing, STEADY, 0.4), calls_ms={"write": CALLS["write"]}), STARTS)
    assert {"p50", "p90", "p99"} <= broken(calibration.errors)
    assert calibration.sensitivity["event_source"]
    assert not calibration.sensitivity["poller_ms_per_job"]


def test_a_call_that_takes_another_time_breaks_its_bound(agreeing: Measured) -> None:
    slower = replace(agreeing, calls_ms={**CALLS, "send": 3 * CALLS["send"]})
    assert calibrate(slower, STARTS).errors["calls"] == pytest.approx(2 / 3)


def test_a_constant_that_nothing_depends_on_makes_the_calibration_worthless(
    agreeing: Measured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.model.calibration.MEASURED", ("cold_start",))
    calibration = calibrate(agreeing, STARTS)
    assert max(calibration.errors.values()) == 0
    assert calibration.sensitivity == {"cold_start": False}
    assert not calibration.holds


def test_the_parts_are_steady_jobs_late_creates_and_more_batches_than_are_taken_at_once(agreeing: Measured) -> None:
    assert Load().beyond > 10 * EMULATOR.event_source.most
    assert agreeing.late_ms["late"]["p50"] > EMULATOR.queue_to_lambda.p50 > agreeing.late_ms[STEADY]["p50"]
    assert agreeing.late_ms[BEYOND]["p90"] > 2 * agreeing.late_ms["late"]["p50"]


def test_what_is_kept_is_what_is_compared() -> None:
    kept = {
        "load": {**vars(Load(per_second=7)), "warm_up_offsets_ms": [-1, -2]},
        "lateMs": {"late": {"p50": 1.0}},
        "probesMs": {"write": 5.0},
    }
    measured = measured_from(json.loads(json.dumps(kept)), {"deliver": 1_600.0, "poll_release": 120.0})
    assert measured.load.per_second == 7
    assert measured.calls_ms == {"write": 5.0, "record_ms_per_job": 0.8, "poller_ms_per_job": 0.12}


def test_without_a_measurement_nothing_is_claimed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(capacity, "RESULT", "nothing of this name")
    with pytest.raises(SystemExit) as ended:
        capacity.main(["--json", "--scenario", "rate_1"])
    assert ended.value.code == 1
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["calibration"] == {"assumed": list(NOT_SHOWN)}


@pytest.mark.parametrize("doubled", [None, *MEASURED])
def test_the_command_fails_if_one_constant_is_doubled(
    doubled: str | None, agreeing: Measured, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = LIMITS if doubled is None else scaled(LIMITS, doubled, 2)
    monkeypatch.setattr("bench.model.calibration.EMULATOR", limits)
    starts = Starts(limits.first_start_ms, limits.next_start_ms)
    monkeypatch.setattr(capacity, "calibrated", lambda: calibrate(agreeing, starts))
    monkeypatch.setattr(capacity, "_BY_NAME", {})
    if doubled is None:
        capacity.main(["--json"])
    else:
        with pytest.raises(SystemExit) as ended:
            capacity.main(["--json"])
        assert ended.value.code == 1


def test_constants_are_medians_and_errors_are_shares() -> None:
    assert starts_of([2.0, 1.0, 9.0], [[1.0, 5.5, 3.0], [2.0, 4.0, 3.0], [0.0, 3.0, 1.0]]) == Starts(2.0, 1.5)
    assert relative_error(13, 10) == pytest.approx(relative_error(7, 10)) == pytest.approx(0.3)
    assert percentiles([5.0, 1.0, 3.0]) == {"p25": 1.0, "p50": 3.0, "p90": 5.0, "p99": 5.0}


def test_the_starts_are_those_of_deliveries_that_arrive() -> None:
    starts = measure_starts()
    assert starts.first_ms > 0
    assert starts.next_ms > 0


def test_a_probe_makes_its_call_each_time() -> None:
    made: list[int] = []
    assert median_ms(lambda: made.append(1)) < 1_000
    assert len(made) > 10
