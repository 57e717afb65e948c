"""The calibration of the model: it fails where a prediction is off, and where a wrong constant would not be noticed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest

from bench import capacity
from bench.arrivals.calibrating import halves_ms, percentiles
from bench.arrivals.lateness_jobs import BEYOND, LATE, STEADY, Load
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
    fitted,
    judge,
    measured_from,
    predict,
    relative_error,
    scaled,
)
from bench.model.limits import AWS, EMULATOR, Limits
from bench.model.run import Stack
from bench.model.scenarios import DEFAULT, LEAD_MS
from bench.model.starts import Starts, measure_starts, starts_of

LIMITS = replace(EMULATOR, first_start_ms=1.1, next_start_ms=0.57)
CALLED = ("write", "query", "send", "target", "server_ms", "record_ms_per_job", "poller_ms_per_job")
CALLS = {name: value if isinstance(value := getattr(LIMITS, name), float) else value.p50 for name in CALLED}
STARTS = {"first_start_ms": LIMITS.first_start_ms, "next_start_ms": LIMITS.next_start_ms}


def machine_of(limits: Limits, calls_ms: Mapping[str, float]) -> Measured:
    """A machine that is as the model says, of so long calls."""
    predicted = predict(Load(), limits)
    return Measured(predicted, calls_ms, Load(), {**calls_ms, **STARTS, "lateCreates": predicted[LATE]["p50"]})


@pytest.fixture(scope="module")
def agreeing() -> Measured:
    return machine_of(LIMITS, CALLS)


def off(measured: Measured, part: str, factor: float) -> Measured:
    late: Mapping[str, Mapping[str, float]] = {
        **measured.late_ms,
        part: {name: ms * factor for name, ms in measured.late_ms[part].items()},
    }
    return replace(measured, late_ms=late)


def test_a_machine_that_is_as_the_model_says_is_predicted(agreeing: Measured) -> None:
    calibration = calibrate(agreeing)
    assert calibration.holds
    assert set(calibration.errors) == set(BOUNDS)
    assert max(calibration.errors.values()) == pytest.approx(0)


def test_a_slower_machine_is_predicted_by_its_own_constants(agreeing: Measured) -> None:
    slow = CALLS | {name: 2.5 * CALLS[name] for name in ("write", "query", "send", "target")}
    fit = {**agreeing.fit_ms, **slow, "lateCreates": 2.5 * agreeing.late_ms[LATE]["p50"]}
    slower = machine_of(fitted(replace(agreeing, fit_ms=fit)), slow)
    assert slower.late_ms[LATE]["p50"] > 2 * agreeing.late_ms[LATE]["p50"]
    assert calibrate(slower).holds


@pytest.mark.parametrize("name", CALLED)
@pytest.mark.parametrize("factor", FACTORS)
def test_halves_that_disagree_are_told(agreeing: Measured, name: str, factor: float) -> None:
    other = replace(agreeing, fit_ms={**agreeing.fit_ms, name: factor * CALLS[name]})
    errors = judge(other, fitted(other))[1]
    assert "calls" in broken(errors)
    assert not Calibration(errors, {}).holds


@pytest.mark.parametrize("name", MEASURED)
@pytest.mark.parametrize("factor", FACTORS)
def test_no_constant_can_be_doubled_or_a_third_unnoticed(agreeing: Measured, name: str, factor: float) -> None:
    wrong = scaled(LIMITS, name, factor)
    assert broken(errors_of(predict(Load(), wrong), wrong, agreeing))


@pytest.mark.parametrize(
    ("part", "name"),
    [(STEADY, "p50"), (STEADY, "p99"), (STEADY, "onTime"), (LATE, "lateCreates"), (BEYOND, "herd")],
)
def test_lateness_that_differs_breaks_its_bound(agreeing: Measured, part: str, name: str) -> None:
    errors = judge(off(agreeing, part, 0.4), LIMITS)[1]
    assert errors[name] > BOUNDS[name]
    assert not Calibration(errors, {}).holds


def test_what_is_off_in_any_case_does_not_count_as_noticing_a_constant(agreeing: Measured) -> None:
    calibration = calibrate(replace(off(agreeing, STEADY, 0.4), calls_ms={"write": CALLS["write"]}))
    assert {"p50", "onTime", "p99"} <= broken(calibration.errors)
    assert calibration.sensitivity["event_source"]
    assert not calibration.sensitivity["poller_ms_per_job"]


def test_a_call_that_takes_another_time_breaks_its_bound(agreeing: Measured) -> None:
    slower = replace(agreeing, calls_ms={**CALLS, "send": 3 * CALLS["send"]})
    assert judge(slower, LIMITS)[1]["calls"] == pytest.approx(2 / 3)


def test_a_constant_that_nothing_depends_on_makes_the_calibration_worthless(
    agreeing: Measured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.model.calibration.MEASURED", ("cold_start",))
    calibration = calibrate(agreeing)
    assert max(calibration.errors.values()) == pytest.approx(0)
    assert calibration.sensitivity == {"cold_start": False}
    assert not calibration.holds


def test_the_parts_are_steady_jobs_late_creates_and_more_batches_than_are_taken_at_once(agreeing: Measured) -> None:
    assert Load().beyond > 10 * EMULATOR.event_source.most
    assert agreeing.late_ms[LATE]["p50"] > EMULATOR.queue_to_lambda.p50 > agreeing.late_ms[STEADY]["p50"]
    assert agreeing.late_ms[BEYOND]["p90"] > 2 * agreeing.late_ms[LATE]["p50"]


def test_what_is_kept_is_what_is_compared() -> None:
    kept = {
        "load": {**vars(Load(per_second=7)), "warm_up_offsets_ms": [-1, -2]},
        "lateMs": {LATE: {"p50": 1.0}},
        "fitMs": {"write": 4.0},
        "callsMs": {"write": 5.0},
    }
    measured = measured_from(json.loads(json.dumps(kept)))
    assert measured.load.per_second == 7
    assert (measured.fit_ms, measured.calls_ms) == ({"write": 4.0}, {"write": 5.0})


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
    monkeypatch.setattr("bench.model.calibration.fitted", lambda _: limits)
    # The errors alone decide: how sensitive they are is tested above.
    monkeypatch.setattr("bench.model.calibration.MEASURED", ())
    monkeypatch.setattr(capacity, "calibrated", lambda: calibrate(agreeing))
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
    assert percentiles([15.0, 1.0, 3.0, 10.0]) == {"p25": 1.0, "p50": 3.0, "p90": 15.0, "p99": 15.0, "onTime": 0.75}


def test_the_starts_are_those_of_deliveries_that_arrive() -> None:
    starts = measure_starts()
    assert starts.first_ms > 0
    assert starts.next_ms > 0


def test_a_probe_makes_its_call_each_time() -> None:
    made: list[int] = []
    assert max(halves_ms(lambda: made.append(1))) < 1_000
    assert len(made) > 10


def test_on_aws_no_call_waits_for_the_one_server_of_an_emulator() -> None:
    stack = Stack(DEFAULT)
    stack.creates.start(200, 5, LEAD_MS, 1_000, 20)
    assert stack.run(LEAD_MS + 30_000).delivered == 1_000
    assert AWS.server_ms == stack.world.server_free_at == 0
