"""A figure that a smoke has measured in an account takes the place of what the model assumes; nothing else does."""

from __future__ import annotations

import json
import random
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from bench import capacity
from bench.capacity import told_of_constants
from bench.model import measured
from bench.model.calibration import BOUNDS, Calibration
from bench.model.chances import Latency, Spread
from bench.model.limits import ASSUMED, AWS, SOURCES, Limits
from bench.model.measured import MEASURED, constants
from bench.model.run import Outcome
from bench.model.scenarios import DEFAULT, herd, steady
from infra.memory import DELIVERER_MEMORY_MB
from tests.smoke.judging.checks import figures
from tests.smoke.measured import write
from tests.unit.harness.test_smoke_checks import SEEN

#: The part of a core that the deliverer had whose starts were measured.
CORES = AWS.cores(DELIVERER_MEMORY_MB / 1_024)
TAKEN = {"cold_start", "delay_error", "messages_per_invocation", "first_start_ms"}
FIGURES: dict[str, Any] = {
    "loneLatenessMs": {"p50": 31, "p99": 200, "max": 300},
    "messagesPerInvocationOfHerd": {"2": 5, "4": 5},
    "sqsDelayErrorMs": {"classMs": 50, "counts": {"-50": 1, "0": 2, "400": 1}, "of": 4},
    "initMs": {
        "Api": {"count": 90, "p50": 1, "p99": 2},
        "Deliverer": {"count": 7, "p50": 377, "p99": 612},
        "KafkaDeliverer": {"count": 2, "p50": 5, "p99": 6},
    },
}


def keep(folder: Path, name: str, at: str = "2026-12-01T10:00:00Z", stage: str = "account", **changed: Any) -> None:
    run = {"at": at, "region": "eu-west-1", "stage": stage, "figures": {**FIGURES, **changed}}
    (folder / name).write_text(json.dumps(run))


def test_every_constant_has_a_source() -> None:
    assert {field.name for field in fields(Limits)} == SOURCES.keys()
    assert all(source.startswith(ASSUMED) or "https://" in source for source in SOURCES.values())


def test_without_a_run_in_an_account_everything_is_assumed_as_before(tmp_path: Path) -> None:
    assert constants(tmp_path / "none") == constants(tmp_path) == measured.Constants(AWS, SOURCES)


def test_a_run_on_a_machine_measured_no_aws(tmp_path: Path) -> None:
    keep(tmp_path, "2026-12-01T1000Z-local.json", stage="local")
    assert constants(tmp_path).limits == AWS
    assert not [source for source in constants(tmp_path).sources.values() if source.startswith(MEASURED)]


def test_what_an_account_measured_takes_the_place_of_what_was_assumed_and_of_nothing_else(tmp_path: Path) -> None:
    keep(tmp_path, "2026-12-01T1000Z-account.json")
    found = constants(tmp_path)
    assert found.limits == replace(
        AWS,
        cold_start=Latency(377, 612),
        delay_error=Spread({-50: 1, 0: 2, 400: 1}, 50),
        messages_per_invocation=3,
        first_start_ms=31 * CORES,
    )
    told = "measured in an account at 2026-12-01T10:00:00Z in eu-west-1 (docs/measured/2026-12-01T1000Z-account.json)"
    assert {name for name, source in found.sources.items() if source == told} == TAKEN
    assert {name: source for name, source in found.sources.items() if source != told}.items() <= SOURCES.items()


def test_the_newest_run_counts_whatever_its_name(tmp_path: Path) -> None:
    keep(tmp_path, "a.json", "2027-01-02T00:00:00Z", loneLatenessMs={"p50": 7})
    keep(tmp_path, "b.json", "2026-01-02T00:00:00Z", loneLatenessMs={"p50": 9})
    keep(tmp_path, "c.json", "2028-01-02T00:00:00Z", "local", loneLatenessMs={"p50": 11})
    assert constants(tmp_path).limits.first_start_ms == 7 * CORES


def test_a_figure_that_a_run_did_not_get_stays_assumed(tmp_path: Path) -> None:
    nothing: dict[str, Any] = {
        "loneLatenessMs": None,
        "messagesPerInvocationOfHerd": {},
        "sqsDelayErrorMs": {"classMs": 50, "counts": {}, "of": 0},
        "initMs": {"Api": {"count": 90, "p50": 1, "p99": 2}},
    }
    keep(tmp_path, "a.json", **nothing)
    assert constants(tmp_path) == measured.Constants(AWS, SOURCES)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"at": "x", "region": "y", "stage": "account", "figures": {}}',
        json.dumps(
            {
                "at": "x",
                "region": "y",
                "stage": "account",
                "figures": {**FIGURES, "initMs": {"Deliverer": {"count": 1, "p50": 0, "p99": 0}}},
            }
        ),
    ],
)
def test_a_file_that_no_smoke_wrote_is_told_and_not_taken_for_a_measurement(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(ValueError, match=r"a\.json"):
        constants(tmp_path)


def test_what_a_smoke_writes_is_what_the_model_reads(tmp_path: Path) -> None:
    write("account", "eu-west-1", {"stage": "account"}, SEEN, tmp_path)
    found = constants(tmp_path).limits
    counts = figures(SEEN)["sqsDelayErrorMs"]["counts"]
    assert (found.messages_per_invocation, found.first_start_ms) == (10, 20 * CORES)
    assert found.delay_error == Spread({int(lower): count for lower, count in counts.items()}, 50)


def test_a_spread_is_drawn_as_it_was_counted() -> None:
    rng = random.Random(1)
    drawn = Spread({-50: 1, 0: 2, 400: 1}, 50).draw(rng, 40_000)
    assert sum(drawn.values()) == 40_000
    shares = {lower // 50 * 50: count / 40_000 for lower, count in drawn.items()}
    assert shares == pytest.approx({-50: 0.25, 0: 0.5, 400: 0.25}, abs=0.02)
    assert Spread().draw(rng, 3) == {0.0: 3}


class TestEachConstantCounts:
    @staticmethod
    def small(limits: Limits) -> Outcome:
        return steady(DEFAULT, 50, 60, limits, jobs_per_request=10)

    def test_late_delays_make_jobs_late_and_early_ones_do_not_make_them_early(self) -> None:
        late = self.small(replace(AWS, delay_error=Spread({1_500: 1}, 50)))
        early = self.small(replace(AWS, delay_error=Spread({-400: 1}, 50)))
        assert late.delivered == early.delivered == 3_000
        assert late.p50_ms > 300 > early.p50_ms >= AWS.first_start_ms

    def test_the_first_start_is_what_a_lone_job_is_late(self) -> None:
        assert self.small(replace(AWS, first_start_ms=60.0)).p50_ms > self.small(AWS).p50_ms + 50

    def test_slow_starts_of_environments_show_in_the_tail(self) -> None:
        slow = self.small(replace(AWS, cold_start=Latency(4_000, 5_000)))
        assert slow.max_ms > self.small(AWS).max_ms + 2_000

    def test_fewer_messages_an_invocation_cost_more_and_take_longer(self) -> None:
        few = herd(DEFAULT, replace(AWS, messages_per_invocation=2), 5_000)
        ten = herd(DEFAULT, AWS, 5_000)
        assert few.delivered == ten.delivered == 5_000
        assert few.dollars_per_million > ten.dollars_per_million + 0.1
        assert few.drain_seconds > ten.drain_seconds


def test_the_command_names_the_source_of_each_constant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(tmp_path, "2026-12-01T1000Z-account.json")
    monkeypatch.setattr(capacity, "constants", lambda: constants(tmp_path))
    # What it measures of this machine is not what is tried here.
    calm = Calibration(dict.fromkeys(BOUNDS, 0.0), {})
    monkeypatch.setattr(capacity, "calibrated", lambda: calm)
    capacity.main(["--scenario", "rate_1"])
    said = capsys.readouterr()
    line = json.loads(said.out.splitlines()[-1])
    assert line["sources"].keys() == SOURCES.keys()
    assert line["sources"]["cold_start"].startswith(MEASURED)
    assert line["sources"]["target"] == ASSUMED
    assert line["rate_1"]["p50Ms"] > 30
    assert all(f"`{name}`" in said.err.partition("Assumed")[0] for name in TAKEN)


def test_where_nothing_was_measured_the_command_says_so() -> None:
    assert told_of_constants(SOURCES).startswith("Nobody has measured a constant in an account. Assumed: `split_after_")
