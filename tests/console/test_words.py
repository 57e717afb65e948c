"""Words and shapes: pure functions of the client's answers, by tables."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from clockwork.targets.registry import TARGETS
from clockwork.targets.target import StoredTarget
from clockwork_client.answers import target_of
from clockwork_client.console import shapes, words
from clockwork_client.overview import Counted, Usage
from clockwork_client.reports import Completion
from clockwork_client.results import Cancellation, Execution, Job, Schedule

T = "2026-03-01T00:03:00.000Z"


def execution(state: str = "SUCCEEDED", *attempts: dict[str, Any], **more: Any) -> Execution:
    tried = list(attempts) or [attempt()]
    return Execution({"executionId": "e", "jobId": "j", "dueAt": T, "state": state, "attempts": tried, **more})


def attempt(
    number: int = 1, state: str = "SUCCEEDED", ended: str | None = "2026-03-01T00:03:01.500Z", **more: Any
) -> dict[str, Any]:
    end = {"endedAt": ended} if ended else {}
    return {"number": number, "state": state, "startedAt": T, "latenessMs": 8, **end, **more}


def job(state: str = "ACTIVE", **more: Any) -> Job:
    target = {"type": "http", "url": "https://shop.example:8443/hook"}
    return Job({"jobId": "j", "clientId": "shop", "jobKey": "k", "state": state, "target": target, **more})


def usage(*, paused: bool = False, host: str | None = None) -> Usage:
    none: dict[str, Any] = {"count": 0, "more": False}
    pace = {"unitsPerSecond": 25.0, "owed": 0.0, "refused": 0}
    circuits = [{"host": host, "openedAt": T, "triedAt": T}] if host else []
    return Usage({"clientId": "shop", "paused": paused, "parked": none, "dead": none, "openCircuits": circuits,
                  "reads": pace, "changes": pace})  # fmt: skip


DEAD = execution("DEAD", attempt(2, "FAILED"), reason="attempt 2 of 2 failed: answered 503")
RUNNING = execution("RUNNING", attempt(2, "RUNNING", None))
RETRIED = execution(
    "FAILED", attempt(1, "FAILED", error="answered 503"),
    waiting={"cause": "retry", "says": "the instant of its next attempt", "until": "2026-03-01T00:05:00.000Z"},
)  # fmt: skip
IN_LINE = execution("PENDING", waiting={"cause": "ordered", "says": "its message is with the deliverers"})


@pytest.mark.parametrize(
    ("one", "runs", "limits", "tone", "says"),
    [
        (job("PAUSED"), [DEAD], usage(paused=True), "wait", "The client is paused"),
        (job("PAUSED", reason="CHG-1", pausedAt=T, pausedBy="arn:aws:iam::1:role/Ops"), [DEAD],
         usage(host="shop.example"), "wait",
         "Paused since 01 Mar 2026 00:03:00 UTC by role/Ops: CHG-1"),
        (job("PAUSED"), [], usage(), "wait", "Paused: nobody said why"),
        (job(), [RUNNING], usage(host="shop.example"), "wait", "The circuit of shop.example is open since"),
        (job(), [RUNNING], usage(host="shop.example:8443"), "wait", "The circuit of shop.example:8443 is open"),
        (job(), [RUNNING], usage(host="hop.example"), "run", "Attempt 2 is at the target now, and started 8 ms"),
        (job(), [RETRIED], usage(), "wait",
         "Attempt 1 ended: answered 503. The next attempt is at 01 Mar 2026 00:05:00 UTC."),
        (job(), [IN_LINE], usage(), "wait", "It waits: its message is with the deliverers."),
        (job(), [DEAD, DEAD, execution()], usage(), "bad",
         "The last 2 runs failed and will not be retried: attempt 2 of 2 failed: answered 503"),
        (job(), [execution("EXPIRED")], None, "bad", "The last run failed and will not be retried: no reason"),
        (job("CANCELLED"), [DEAD], usage(), "skip", "It was cancelled"),
        (job("COMPLETED"), [execution()], usage(), "skip", "It is over"),
        (job(), [execution("SKIPPED", reason="overlap: another one is under way")], usage(), "skip",
         "The last fire was skipped: overlap: another one is under way"),
        (job(), [execution("CANCELLED")], usage(), "skip", "The last run was cancelled: as somebody asked"),
        (job(), [], usage(), "ok", "It has not fired yet"),
        (job(), [execution()], usage(), "ok",
         "On time: the last run started 8 ms after it was due and took 1.5 s."),
        (job(), [execution("NEW_STATE", nextAttemptAt=T)], usage(), "wait",
         "The last run is not over: new state. The next attempt is at"),
    ],
)  # fmt: skip
def test_why_is_the_first_true_sentence(
    one: Job, runs: list[Execution], limits: Usage | None, tone: str, says: str
) -> None:
    found = words.why(one, runs, limits)
    assert found.tone == tone
    assert found.says.startswith(says)


@pytest.mark.parametrize(
    ("result", "executions", "says"),
    [
        ("cancelled", [], "Cancelled. No attempt starts after this moment."),
        ("running", [RUNNING], "Attempt 2 started 01 Mar 2026 00:03:00 UTC and may still arrive. None follows."),
        ("running", [], "An attempt started and may still arrive. None follows."),
        ("too_late", [execution()], "It had ended: succeeded at 01 Mar 2026 00:03:01 UTC."),
        ("too_late", [], "It had ended: it was delivered, or may be."),
    ],
)
def test_a_cancel_has_three_answers(result: str, executions: list[Execution], says: str) -> None:
    raw = {"jobId": "j", "result": result, "reason": "it was delivered, or may be"}
    found = words.cancelled(Cancellation({**raw, "executions": [one.raw for one in executions]}))
    assert found.says == says


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (None, ""),
        (
            {"mode": "callback", "heartbeatSeconds": 300, "timeoutSeconds": 86_400},
            "by a report of its receiver, within 1 day",
        ),
        ({"mode": "end", "timeoutSeconds": 5_400}, "when AWS says so, within 90 minutes"),
    ],
)
def test_an_attempt_that_goes_on_behind_its_answer_says_what_ends_it(found: dict[str, Any] | None, says: str) -> None:
    assert words.completion(None if found is None else Completion(found)) == says


@pytest.mark.parametrize("kind", TARGETS, ids=lambda kind: kind.__name__)
def test_each_target_has_an_address(kind: type[StoredTarget]) -> None:
    """Also a target that is registered later."""
    tag = kind.__struct_config__.tag
    fields = [one for one in msgspec.structs.fields(kind) if one.required or one.name == "role_arn"]
    texts = {one.encode_name: f"<{one.encode_name}>" for one in fields}
    shown = words.target(target_of({"type": tag, **texts, "timeoutSeconds": 1, "headers": {}, "nodes": {}}))
    assert shown not in ("", tag, "<roleArn>")


def test_a_topic_says_that_it_is_one() -> None:
    assert words.target(target_of({"type": "kafka", "topic": "orders"})) == "topic orders"


@pytest.mark.parametrize(
    ("value", "says"),
    [(None, "–"), (0, "0 ms"), (999, "999 ms"), (1_000, "1.0 s"), (59_900, "59.9 s"), (60_000, "1 min"),
     (3_600_000, "1.0 h"), (172_800_000, "2 days")],
)  # fmt: skip
def test_durations(value: float | None, says: str) -> None:
    assert words.ms(value) == says


@pytest.mark.parametrize(
    ("seconds", "says"),
    [(1, "Every second"), (5, "Every 5 seconds"), (60, "Every minute"), (90, "Every 90 seconds"),
     (7_200, "Every 2 hours"), (86_400, "Every day"), (0.5, "Every 0.5 seconds"), (100_000, "Every 100,000 seconds")],
)  # fmt: skip
def test_intervals(seconds: float, says: str) -> None:
    assert words.every(seconds) == says


@pytest.mark.parametrize(
    ("raw", "description", "says", "zone"),
    [
        ({"cron": "0 3 * * *", "timezone": "Asia/Tokyo"}, "At 03:00, every day.", "At 03:00, every day", "Asia/Tokyo"),
        ({"cron": "0 3 * * *"}, None, "cron 0 3 * * *", "UTC"),
        ({"every": {"seconds": 60}}, None, "Every minute", "from its start"),
        ({"at": T}, None, "Once, at 01 Mar 2026 00:03:00 UTC", ""),
        ({"delaySeconds": 5}, None, "Once", ""),
    ],
)
def test_schedules(raw: dict[str, Any], description: str | None, says: str, zone: str) -> None:
    found = Schedule(raw)
    assert (words.schedule(found, description), words.zone(found)) == (says, zone)


def test_small_words() -> None:
    assert [words.plural(count, "run") for count in (0, 1, 1_200)] == ["0 runs", "1 run", "1,200 runs"]
    assert words.counted(Counted({"count": 200, "more": True})) == "200+"
    assert words.person("arn:aws:sts::1:assumed-role/Ops/ann") == "assumed-role/Ops/ann"
    assert words.action("putClient") == "put client"
    assert words.tone("A_LATER_STATE") == "wait"
    assert words.attempt_state("WORKER_LOST").startswith("lost: it may have arrived")
    assert words.waits_for("pause", 2, None) == "waits for a resume"
    assert [words.waits_for(None, number, True) for number in (None, 1, 2)] == ["repeats", "repeats", "attempt 2"]


def test_lateness_is_told_by_cause_and_the_rest_is_clockworks_own() -> None:
    one = execution("SUCCEEDED", {**attempt(), "latenessMs": 1_000}, waited={"cap": 700, "permit": 0, "ordered": 100})
    assert words.causes(one) == [("rate cap", 700.0), ("order", 100.0), ("Clockwork", 200.0)]
    bars = shapes.shares(words.causes(one), 100)
    assert [(bar.x, bar.width) for bar in bars] == [(0.0, 70.0), (70.0, 10.0), (80.0, 20.0)]
    assert words.causes(execution("PENDING", {**attempt(), "latenessMs": None})) == []
    assert shapes.shares([("Clockwork", 0.0)])[0].width == 0


def test_a_strip_has_the_newest_run_at_its_right_end_and_fits_its_box() -> None:
    found = shapes.strip([DEAD, *[execution()] * 30], 24)
    assert (found.says, len(found.bars)) == ("23 of the last 24 runs succeeded", 24)
    assert (found.bars[-1].tone, found.bars[0].tone) == ("bad", "ok")
    assert all(0 <= bar.x <= found.width - bar.width and bar.y + bar.height == found.height for bar in found.bars)
    few = shapes.strip([execution()], 24)
    assert few.bars[0].x + few.bars[0].width == pytest.approx(few.width, abs=3)
    assert shapes.strip([], 24).bars == ()


def test_the_river_has_a_column_for_each_minute_and_now_in_its_middle() -> None:
    now = datetime(2026, 3, 1, 12, 0, 30, tzinfo=UTC)
    past = [(now - timedelta(minutes=at), tone, 1) for at, tone in ((1, "ok"), (1, "bad"), (90, "bad"))]
    late = {now.replace(second=0) - timedelta(minutes=at): "99 % within 75 ms" for at in (1, 2)}
    found = shapes.river(past, [(now + timedelta(minutes=5), 3)], now, now + timedelta(minutes=4), late)
    assert (len(found.columns), found.past["bad"], found.ahead) == (61, 1, 3)
    assert found.columns[29].says == "11:59 UTC: 1 succeeded, 1 failed, 99 % within 75 ms"
    assert found.columns[28].says == "11:58 UTC: nothing"
    assert found.columns[35].says == "12:05 UTC: 3 to come"
    assert found.now == pytest.approx(found.width / 2)
    assert found.released == pytest.approx(4 * found.width / 61, abs=0.1)
    assert all(bar.y >= 0 and bar.y + bar.height <= found.height + 0.2 for one in found.columns for bar in one.bars)
    assert [tick.text for tick in found.ticks] == ["11:30", "11:40", "11:50", "12:00", "12:10", "12:20", "12:30"]


def test_a_river_of_many_stays_in_its_box() -> None:
    now = datetime(2026, 3, 1, 12, tzinfo=UTC)
    found = shapes.river([(now, "ok", 100_000)], [(now, 2), (now, 3)], now, None)
    assert min(bar.y for one in found.columns for bar in one.bars) >= 0
    assert found.released == 0
