"""The benchmark of isolation holds its bounds in a small form, and finds out what is not contained or not shared."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from bench import isolation
from bench.arrivals.shared import Began
from bench.isolating import scenes, stack
from bench.isolating.poisons import ODD, POISONS, URL, Poison
from bench.isolating.scenes import Seen, capacity_used
from clockwork.domain.jobs import Occurrence
from clockwork.domain.lifecycle import attempts
from clockwork.domain.lifecycle.attempts import Plan
from clockwork.domain.limits.sharing import Company
from clockwork.domain.releases import Delivery, Release
from clockwork.flows.deliver import concurrency, outcome
from clockwork.flows.deliver.batch import Batch
from clockwork.settings import Settings
from clockwork.targets.http import HttpTarget
from clockwork.targets.message import Payload
from local.emulator import Credentials, Emulator, emulator

#: Jobs of each client in a second. Those of five clients still fill batches of ten.
FEW = 6
#: With fewer deliverers a smaller flood is as long.
SMALL_FLOOD = 2_000
SETTINGS = Settings.for_account().with_(deliverer_concurrency=40)
FAST, SLOW = (20, 50), (scenes.SLOW_MS, scenes.SLOW_MS)
SOUND: dict[str, Any] = {"lost": 0, "duplicates": 0, "p99Ms": 90, "p99AloneMs": 80}
BESIDE: dict[str, Any] = {"lost": 0, "duplicates": 0, "othersP99Ms": 90, "othersP99AloneMs": 80, "p99Ms": 9_000}
RESULT: dict[str, Any] = {
    "poisons": dict.fromkeys([*POISONS, *isolation.POOL_FLOODS], SOUND),
    "slow": {"capacityUsed": 0.95, **BESIDE},
    "fast": BESIDE,
}


@pytest.fixture(scope="module")
def running() -> Iterator[Emulator]:
    with emulator(secure=False) as one:
        yield one


@pytest.fixture(scope="module")
def alone() -> Seen:
    return scenes.among_poison(None, 1, FEW)


@contextmanager
def uncontained(_: Batch, *__: object) -> Iterator[None]:
    """In place of `Batch.failing`: what one item raises leaves the batch."""
    yield


@pytest.mark.parametrize("kind", POISONS)
def test_poison_of_one_client_hurts_nobody_else(kind: str, alone: Seen) -> None:
    seen = scenes.among_poison(POISONS[kind], 1, FEW)
    assert len(seen.lateness_ms) == len(alone.lateness_ms) == len(scenes.OTHERS) * scenes.POISON_SECONDS * FEW
    assert (seen.lost, seen.duplicates) == (0, 0)
    assert seen.p99_ms <= isolation.TIMES * max(alone.p99_ms, isolation.LEAST_MS)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", POISONS)
def test_nor_on_the_adapters_of_aws(kind: str, running: Emulator) -> None:
    account = Credentials.root(f"{list(POISONS).index(kind) + 1:012d}")
    seen = stack.among_poison(running, account, POISONS[kind], each=3)
    assert (seen.lost, seen.duplicates) == (0, 0)


def test_a_defect_that_is_not_contained_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Batch, "failing", uncontained)
    assert scenes.among_poison(POISONS["decision"], 1, FEW).lost > 0


def test_a_delivery_that_is_repeated_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The decision about an outcome raises, after the deliveries of the whole batch."""
    plan = attempts.plan_outcome

    def raising(release: Release, *more: Any) -> Plan:
        if release.occurrence.client_id == ODD:
            raise ValueError("a defect that nobody expected")
        return plan(release, *more)

    monkeypatch.setattr(outcome, "plan_outcome", raising)
    assert scenes.among_poison(Poison(says="sound but for that"), 1, FEW).duplicates == 0
    monkeypatch.setattr(Batch, "failing", uncontained)
    assert scenes.among_poison(Poison(says="sound but for that"), 1, FEW).duplicates > 0


@pytest.mark.nightly
def test_nor_does_it_pass_on_the_adapters_of_aws(running: Emulator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Batch, "failing", uncontained)
    assert stack.among_poison(running, Credentials.root("9" * 12), POISONS["decision"], each=3).lost > 0


@pytest.mark.nightly
def test_a_flood_leaves_the_others_in_time_and_uses_what_it_may_take() -> None:
    found = isolation.measure_floods(runs=2)
    assert isolation.broken({"poisons": {}, **found}) == []
    assert found["fast"]["p99Ms"] < 3_000


@pytest.mark.nightly
def test_a_flood_that_need_not_share_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Company, "has_others", lambda *_: False)
    for answer_ms in (FAST, SLOW):
        assert scenes.flood(SMALL_FLOOD, answer_ms, 1, SETTINGS).others.p99_ms > 500


@pytest.mark.nightly
def test_permits_that_lie_idle_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concurrency, "wait_ms", lambda waits, fraction: int(20_000 * (1 + fraction)))
    assert scenes.flood(SMALL_FLOOD, SLOW, 1, SETTINGS).used < 0.5


def test_capacity_is_the_share_of_deliverers_at_work_while_more_waits_than_they_can_take() -> None:
    occurrence = Occurrence("flooding", 0, 0, HttpTarget(URL), Payload(b"{}"))
    delivery = Delivery("e", "j", 1, occurrence, 0)
    # Of two deliverers one is always at work, and the other after the first second alone. Twenty messages come last.
    first = [Began(1, delivery, at) for at in (0, 2_000)] + [Began(2, delivery, 1_000)]
    last = [Began(number % 2 + 1, delivery, 4_000) for number in range(20)]
    assert capacity_used([*first, *last], 0, 2_000, 2) == pytest.approx((4_000 + 2_000) / (2 * 4_000))


@pytest.mark.parametrize(
    ("changes", "broken"),
    [
        ({}, 0),
        ({"poisons": {**RESULT["poisons"], "port": {**SOUND, "lost": 1}}}, 1),
        ({"poisons": {**RESULT["poisons"], "port": {**SOUND, "duplicates": 2, "p99Ms": 161}}}, 2),
        ({"poisons": {**RESULT["poisons"], "port": {**SOUND, "p99Ms": 100, "p99AloneMs": 1}}}, 0),
        ({"slow": {**RESULT["slow"], "capacityUsed": 0.89}}, 1),
        ({"slow": {**RESULT["slow"], "othersP99Ms": 161}}, 1),
        ({"fast": {**BESIDE, "othersP99Ms": 161, "lost": 1}}, 2),
    ],
)
def test_a_bound_that_does_not_hold_is_told_and_ends_in_failure(
    changes: dict[str, Any], broken: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    result = {**RESULT, **changes}
    assert len(isolation.broken(result)) == broken
    monkeypatch.setattr(isolation, "measure_poisons", lambda _: result["poisons"])
    monkeypatch.setattr(isolation, "measure_floods", lambda _: {key: result[key] for key in ("slow", "fast")})
    if broken:
        with pytest.raises(SystemExit, match="1"):
            isolation.main(["--json"])
    else:
        isolation.main(["--json"])
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == result
