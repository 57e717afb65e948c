"""Each check of a smoke is right about a run that was right, and names what is wrong about one that was not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.chaos.promises import CANCELLED, Arrival, Key, Promise
from tests.chaos.sender import Failure
from tests.smoke.evidence import Bill, Evidence, Upgrade
from tests.smoke.judging.checks import FAILED, NOT_HERE, OK, failed, figures, judge, told
from tests.smoke.judging.stack import METRICS
from tests.smoke.logs import Told
from tests.smoke.plan import TARGETS, Kind
from tests.smoke.probes import Hiding
from tests.smoke.scale import ACCOUNT_BOUNDS
from tests.smoke.targets.listener import Heard

NOW = 1_000_000_000
WEBHOOKS = (Kind.LONE, Kind.STEADY, Kind.HERD, Kind.CRON, Kind.CANCELLED, Kind.RETRIED)
#: The version changes while the last job is due.
UPGRADE = Upgrade(NOW + 100_000, NOW + 110_000, {"Api": "1", "Poller": "1"}, {"Api": "2", "Poller": "2"})


def due(number: int) -> int:
    return NOW + number * 1_000


def right() -> Evidence:
    """One job of each kind, two of an ordering key, and one that is due while the version changes."""
    kinds = [*WEBHOOKS, *TARGETS]
    promises, heard, of = [], [], {}
    for number, kind in enumerate(kinds):
        key = Key(f"job-{kind}", due(number))
        of[key] = kind
        cancel = CANCELLED if kind is Kind.CANCELLED else ""
        promises.append(Promise(key=key, acknowledged_at=NOW - 5_000, cancel=cancel))
        origin = kind if kind in TARGETS else "http"
        if kind is Kind.RETRIED:
            heard.append(Heard(origin, Arrival(key, 1, key.due_at + 10, False)))
        if not cancel:
            heard.append(Heard(origin, Arrival(key, 2 if kind is Kind.RETRIED else 1, key.due_at + 20, True)))
    for number in (1, 2):
        key = Key(f"job-ordered-{number}", due(30 + number))
        of[key] = Kind.ORDERED
        promises.append(Promise(key=key, acknowledged_at=NOW, ordering_key="k"))
        attempt = 2 if number == 1 else 1
        heard.append(Heard("http", Arrival(key, attempt, due(33 + number), True)))
    meanwhile = Key("job-meanwhile", UPGRADE.began_at + 1)
    of[meanwhile] = Kind.STEADY
    promises.append(Promise(key=meanwhile, acknowledged_at=NOW))
    heard.append(Heard("http", Arrival(meanwhile, 1, meanwhile.due_at + 900, True)))
    herd_at = due(WEBHOOKS.index(Kind.HERD))
    return Evidence(
        promises=promises,
        kinds=of,
        heard=heard,
        strange=[],
        ends={},
        upgrade=UPGRADE,
        failures=[Failure(UPGRADE.began_at + 5, "503")],
        delay_errors_ms=[-20, 0, 30],
        delays=3,
        hiding=Hiding(["b1"], "a1"),
        told=Told(
            metrics={**dict.fromkeys(METRICS, 1.0), "Early": 0},
            deliveries=[(herd_at + 30, 10), (herd_at + 40, 10), (NOW + 90_000, 1)],
            init_ms={"Api": [400.0, 500.0]},
        ),
        metrics=METRICS | {"Early"},
        invocation_errors={"Api": 0},
        bill=Bill({"writes": 0.01}, {"writes": 0.012}),
    )


def checks(seen: Evidence) -> dict[str, str]:
    return judge(seen, ACCOUNT_BOUNDS, ())


def hear(seen: Evidence, job_id: str, **change: Any) -> Evidence:
    """The same with another accepted arrival of a job."""
    heard = [
        one._replace(arrival=replace(one.arrival, **change))
        if one.arrival.key.job_id == job_id and one.arrival.accepted
        else one
        for one in seen.heard
    ]
    return replace(seen, heard=heard)


def deaf(seen: Evidence, job_id: str) -> Evidence:
    """The same, and a job was never accepted."""
    heard = [one for one in seen.heard if one.arrival.key.job_id != job_id or not one.arrival.accepted]
    return replace(seen, heard=heard)


def twice(seen: Evidence, job_id: str) -> Evidence:
    again = [one for one in seen.heard if one.arrival.key.job_id == job_id and one.arrival.accepted]
    return replace(seen, heard=[*seen.heard, *again])


def telling(seen: Evidence, **change: Any) -> Evidence:
    return replace(seen, told=replace(seen.told, **change))


def without(seen: Evidence, kind: Kind) -> Evidence:
    """The same without jobs of a kind: what nobody asked for proves nothing."""
    return replace(seen, promises=[p for p in seen.promises if seen.kinds[p.key] is not kind])


def at(seen: Evidence, job_id: str) -> int:
    return next(p.key.due_at for p in seen.promises if p.key.job_id == job_id)


SEEN = right()
CANCELLED_KEY = next(p.key for p in SEEN.promises if p.cancel)
STRANGER = Heard("http", Arrival(Key("nobody", NOW), 1, NOW, True))

WRONG: list[tuple[str, Evidence, str]] = [
    ("lost", deaf(SEEN, "job-lone"), "1 were promised, were never accepted"),
    ("lost", replace(deaf(SEEN, "job-lone"), ends={SEEN.promises[0].key: "DEAD"}), "given up although"),
    ("early", hear(SEEN, "job-lone", at=NOW - 101), "1 came more than 100 ms before"),
    ("early", telling(SEEN, metrics={**SEEN.told.metrics, "Early": 2}), "2 attempts were early by the deliverers'"),
    ("duplicates", twice(SEEN, "job-lone"), "1 were accepted twice"),
    ("duplicates", replace(SEEN, heard=[*SEEN.heard, STRANGER]), "nobody was promised"),
    ("duplicates", replace(SEEN, strange=["heard: what?"]), "nobody understands heard: what?"),
    ("lateness", hear(SEEN, "job-lone", at=NOW + 2_501), "p99 of lateness is 2501 ms, more than 2500"),
    ("order", hear(SEEN, "job-ordered-2", at=due(32) + 1), "1 overtook the one ahead"),
    ("order", hear(SEEN, "job-ordered-1", attempt=1), "were to fail once, and did not"),
    ("order", without(SEEN, Kind.ORDERED), "there were no ordered jobs"),
    ("retries", hear(SEEN, "job-retried", attempt=3), "not accepted at attempt 2"),
    ("retries", without(SEEN, Kind.RETRIED), "nothing was to be retried"),
    ("cancels", replace(SEEN, heard=[*SEEN.heard, Heard("http", Arrival(CANCELLED_KEY, 1, due(9), True))]), "although"),
    ("cancels", without(SEEN, Kind.CANCELLED), "no cancel was in time"),
    ("cron", twice(SEEN, "job-cron"), "1 did not fire once"),
    ("cron", without(SEEN, Kind.CRON), "no cron job fired"),
    ("herd", deaf(SEEN, "job-herd"), "1 of the herd never came"),
    ("herd", without(SEEN, Kind.HERD), "there was no herd"),
    ("target http", deaf(SEEN, "job-lone"), "1 never came"),
    *((f"target {kind}", deaf(SEEN, f"job-{kind}"), "1 never came") for kind in TARGETS),
    *((f"target {kind}", without(SEEN, kind), "nothing was sent there") for kind in TARGETS),
    ("deployUnderLoad", replace(SEEN, upgrade=replace(UPGRADE, after={**UPGRADE.after, "Api": "1"})), "version of Api"),
    ("deployUnderLoad", replace(SEEN, upgrade=replace(UPGRADE, before={}, after={})), "version of any Lambda"),
    ("deployUnderLoad", replace(SEEN, upgrade=replace(UPGRADE, ended_at=0)), "nothing was due meanwhile"),
    ("deployUnderLoad", deaf(SEEN, "job-meanwhile"), "1 of 1 that were due meanwhile are lost"),
    ("deployUnderLoad", twice(SEEN, "job-meanwhile"), "1 of 1 that were due meanwhile came twice"),
    ("messagesPerInvocation", telling(SEEN, deliveries=[(due(2), 1)] * 10), "one of 1.0 in its invocation"),
    ("messagesPerInvocation", telling(SEEN, deliveries=[]), "no deliverer had a message of the herd"),
    ("sqsDelay", replace(SEEN, delay_errors_ms=[0, 0]), "2 of 3 delayed messages came"),
    ("sqsDelay", replace(SEEN, delay_errors_ms=[-1_001, 0, 0]), "a delay ended 1001 ms early"),
    ("sqsDelay", replace(SEEN, delay_errors_ms=[0, 0, 1_001]), "p99 of delays ended 1001 ms late"),
    ("fifoHiding", replace(SEEN, hiding=Hiding(["b1", "a2"], "a1")), "while the head of its group was hidden came a2"),
    ("fifoHiding", replace(SEEN, hiding=Hiding([], "a1")), "the other group was hidden, too"),
    ("fifoHiding", replace(SEEN, hiding=Hiding(["b1"], "a2")), "after the head was hidden came a2 first"),
    ("fifoHiding", replace(SEEN, hiding=Hiding(["b1"], "a1", looks=0)), "nobody looked in time"),
    ("initDuration", telling(SEEN, init_ms={"Api": [2_001.0]}), "half of Api's environments took more than 2001 ms"),
    ("initDuration", telling(SEEN, init_ms={}), "no report of Lambda has an Init Duration"),
    ("metricsWritten", telling(SEEN, metrics=dict.fromkeys(METRICS - {"Polls"}, 1.0)), "nobody wrote Polls"),
    ("metricsWritten", telling(SEEN, metrics={**SEEN.told.metrics, "Stuck": 3}), "Stuck is 3"),
    ("metricsInCloudWatch", replace(SEEN, metrics=METRICS - {"Polls"}), "CloudWatch has no Early, Polls"),
    ("accessDenied", telling(SEEN, denied=["Api: AccessDenied"]), "Api: AccessDenied"),
    ("invocations", replace(SEEN, invocation_errors={"Api": 2}), "2 invocations of Api failed"),
    ("dollars", replace(SEEN, bill=Bill({"writes": 0.9}, {"writes": 1.2})), "$1.20 were spent, more than $1.00"),
    ("dollars", replace(SEEN, bill=Bill({"writes": 0.01}, {"writes": 0.04})), "$0.0400 were metered where $0.0100"),
    ("destroyed", replace(SEEN, left=["a table is left"]), "a table is left"),
]


def test_a_run_that_was_right_passes_every_check() -> None:
    found = checks(SEEN)
    assert set(found.values()) == {OK}
    assert len(found) >= 25
    assert failed(found) == []


@pytest.mark.parametrize(("name", "seen", "why"), WRONG, ids=[f"{name}: {why[:30]}" for name, _, why in WRONG])
def test_what_is_wrong_fails_its_check_and_says_why(name: str, seen: Evidence, why: str) -> None:
    said = checks(seen)[name]
    assert said.startswith(FAILED)
    assert why in said


def test_every_check_is_seen_to_fail() -> None:
    assert {name for name, _, _ in WRONG} == checks(SEEN).keys()


def test_what_cannot_be_checked_here_is_not_judged() -> None:
    blind = replace(deaf(SEEN, "job-sns"), bill=None)
    found = judge(blind, ACCOUNT_BOUNDS, {"dollars", "target sns"})
    assert (found["dollars"], found["target sns"], found["lost"][:6]) == (NOT_HERE, NOT_HERE, "failed")
    with pytest.raises(ValueError, match="no check has the name dolars"):
        judge(SEEN, ACCOUNT_BOUNDS, {"dolars"})


def test_at_level_none_a_second_delivery_is_counted_and_no_failure() -> None:
    promises = [replace(p, record="none") for p in SEEN.promises]
    seen = twice(replace(SEEN, promises=promises), "job-lone")
    assert checks(seen)["duplicates"] == OK
    assert told("local", seen, {})["duplicates"] == 1


def test_the_last_line_has_its_form() -> None:
    line = told("local", deaf(SEEN, "job-lone"), {"lost": "ok"})
    assert list(line) == ["stage", "jobs", "lost", "early", "duplicates", "latenessMs", "checks"]
    assert (line["stage"], line["jobs"], line["lost"], line["early"]) == ("local", len(SEEN.promises), 1, 0)
    assert list(line["latenessMs"]) == ["p50", "p99", "max"]


def test_the_figures_tell_of_the_deployment_and_of_every_distribution() -> None:
    found: dict[str, Any] = figures(SEEN)
    meanwhile = found["deployUnderLoad"]
    assert (meanwhile["seconds"], meanwhile["failedRequests"], meanwhile["occurrences"]) == (10.0, 1, 1)
    assert meanwhile["latenessMs"] == {"p50": 900, "p99": 900, "max": 900}
    assert meanwhile["latenessMsOtherwise"]["p50"] == 20
    assert found["messagesPerInvocation"] == {"1": 1, "10": 2}
    assert found["messagesPerInvocationOfHerd"] == {"10": 2}
    assert found["loneLatenessMs"] == {"p50": 20, "p99": 20, "max": 20}
    assert figures(deaf(SEEN, "job-lone"))["loneLatenessMs"] is None
    assert found["sqsDelayErrorMs"]["counts"] == {"-50": 1, "0": 2}
    assert found["initMs"]["Api"] == {"count": 2, "p50": 400, "p99": 500}
    assert found["dollars"] == {"reckoned": {"writes": 0.01}, "metered": {"writes": 0.012}}
