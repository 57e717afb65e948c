"""Named jobs over the HTTPS API: create, read, change and control them, with clear refusals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import Outcome
from clockwork.domain.fires import counting
from clockwork.domain.instants import to_text
from clockwork.domain.keys import edge_key
from clockwork.domain.named_jobs import NamedJob
from clockwork.domain.recurrence import Work
from clockwork.domain.releases import Delivery
from clockwork.edge.operations.named_jobs import CHECK_WORK
from clockwork.edge.responses.fires import LISTED_WORK, SHOWN_WORK
from clockwork.flows.named.repair import check_chain
from tests.handlers.handlers import Answer, Api, job_body
from tests.support.examples import BOB, success

EVERY = {"every": {"seconds": 10}}
DAILY = {"cron": "30 1 * * *", "timezone": "America/New_York"}


def create(api: Api, key: str = "tick", schedule: Any = EVERY, **changes: Any) -> Answer:
    return api.create(jobKey=key, schedule=schedule, **changes)


def job_id(api: Api, **changes: Any) -> str:
    answer = create(api, **changes)
    assert answer.status == 201
    found: str = answer.body["jobId"]
    return found


def run(api: Api, seconds: float) -> int:
    """Let time pass; returns how many occurrences were delivered meanwhile."""
    before = len(api.clockwork.targets.delivered)
    api.clockwork.run_until(api.clockwork.clock.at + int(seconds * 1000))
    return len(api.clockwork.targets.delivered) - before


def test_a_named_job_is_created_once_and_repeated_as_sent() -> None:
    api = Api()
    first, again = create(api), create(api)
    assert (first.status, again.status) == (201, 200)
    assert first.body["jobId"] == again.body["jobId"]
    assert first.body["state"] == "ACTIVE"
    assert first.body["revision"] == 1
    assert "nextFireAt" in first.body
    assert not [call for call in api.writes if call != "invoker.poll" and call != "timeline.put_new"]


def test_another_definition_under_the_key_is_a_conflict_that_names_the_differences() -> None:
    api = Api()
    create(api)
    other = create(api, payload={"n": 2}, tags={"a": "b"})
    assert other.status == 409
    assert other.pointers == ["/payload", "/tags"]


def test_a_one_shot_may_have_a_name() -> None:
    api = Api()
    answer = create(api, schedule={"delaySeconds": 30})
    assert "dueAt" in answer.body
    assert run(api, 60) == 1
    assert api.call("GET", f"/v1/jobs/{answer.body['jobId']}").body["state"] == "COMPLETED"


def test_a_job_shows_its_next_ten_fires_in_local_time_and_its_last_execution() -> None:
    api = Api()
    shown = api.call("GET", f"/v1/jobs/{job_id(api, schedule=DAILY)}").body
    assert len(shown["nextFires"]) == 10
    assert shown["nextFires"][0]["local"].endswith("T01:30:00.000-05:00")
    assert shown["description"] == "At 01:30, every day."
    assert shown["schedule"] == DAILY
    every = job_id(api, key="other")
    run(api, 25)
    shown = api.call("GET", f"/v1/jobs/{every}").body
    assert shown["lastExecution"]["state"] in ("SUCCEEDED", "PENDING", "RUNNING")
    executions = api.call("GET", f"/v1/jobs/{every}/executions", query={"limit": "1"}).body
    assert len(executions["items"]) == 1
    assert "nextToken" in executions


def test_a_change_is_for_the_revision_that_was_read() -> None:
    api = Api()
    path = f"/v1/jobs/{job_id(api)}"
    definition = {**job_body(), "schedule": {"every": {"seconds": 20}}}
    changed = api.call("PUT", path, definition, headers={"if-match": '"1"'})
    assert (changed.status, changed.body["revision"]) == (200, 2)
    stale = api.call("PUT", path, {**definition, "payload": 1}, headers={"if-match": "1"})
    assert stale.status == 409
    assert "revision 2" in stale.details[0]
    assert "revision 1" in stale.details[0]
    assert api.call("PUT", path, definition).body["revision"] == 2


def test_a_patch_changes_what_it_names_and_validates_the_whole() -> None:
    api = Api()
    path = f"/v1/jobs/{job_id(api, tags={'team': 'billing'})}"
    assert api.call("PATCH", path, {"payload": {"n": 7}, "tags": None}).status == 200
    shown = api.call("GET", path).body
    assert (shown["payload"], shown["tags"], shown["schedule"]) == ({"n": 7}, {}, EVERY)
    bad = api.call("PATCH", path, {"schedule": {"every": None}, "target": {"url": "ftp://x"}})
    assert bad.status == 422
    assert bad.pointers == ["/schedule", "/target/url"]
    assert api.call("PATCH", path, [1]).status == 422


def test_pause_resume_run_and_delete() -> None:
    api = Api()
    path = f"/v1/jobs/{job_id(api)}"
    assert run(api, 25) == 2
    paused = api.call("POST", f"{path}/pause", {"reason": "maintenance"})
    assert (paused.body["state"], paused.body["revision"]) == ("PAUSED", 2)
    assert api.call("POST", f"{path}/pause").body["revision"] == 2
    assert api.call("GET", path).body["reason"] == "maintenance"
    assert run(api, 30) == 0
    started = api.call("POST", f"{path}/run", headers={"idempotency-key": "k"})
    assert started.status == 202
    assert api.call("POST", f"{path}/run", headers={"idempotency-key": "k"}).body == started.body
    assert run(api, 5) == 1
    assert api.call("GET", f"/v1/executions/{started.body['executionId']}").body["state"] == "SUCCEEDED"
    resumed = api.call("POST", f"{path}/resume", {})
    assert resumed.body["state"] == "ACTIVE"
    assert len(resumed.body["released"]) > 0
    assert run(api, 11) == 2
    gone = api.call("DELETE", path)
    assert gone.body["result"] == "cancelled"
    assert run(api, 60) == 0
    assert api.call("DELETE", path).body["result"] == "cancelled"
    for call in ("pause", "resume", "run"):
        assert api.call("POST", f"{path}/{call}").status == 404
    assert create(api, payload=9).status == 201


def test_of_all_that_a_resume_releases_an_answer_lists_the_first_and_counts_the_rest() -> None:
    api = Api()
    path = f"/v1/jobs/{job_id(api, schedule={'every': {'seconds': 1}, 'catchUp': 'all'})}"
    run(api, 5)
    api.call("POST", f"{path}/pause")
    run(api, 3_600)
    puts = api.writes.count("timeline.put_new")
    resumed = api.call("POST", f"{path}/resume").body
    assert resumed["releasedCount"] > 3_600
    assert resumed["released"][0]["dueAt"] < resumed["released"][-1]["dueAt"]
    assert len(resumed["released"]) == 100
    # The two pointers: the first one, and the one beyond the horizon; and a mark behind each 500 fires.
    assert api.writes.count("timeline.put_new") == puts + 2 + resumed["releasedCount"] // 500


@pytest.mark.parametrize(
    ("call", "port", "name"), [("resume", "shards", "get"), ("resume", "queue", "send"), ("patch", "shards", "get")]
)
def test_a_change_that_failed_behind_its_row_is_done_by_its_repeat(
    monkeypatch: pytest.MonkeyPatch, call: str, port: str, name: str
) -> None:
    api = Api()
    path = f"/v1/jobs/{job_id(api, schedule={**EVERY, 'catchUp': 'all'})}"
    assert run(api, 35) == 3
    if call == "resume":
        api.call("POST", f"{path}/pause")
        run(api, 600)

    save = api.clockwork.jobs.save

    def fails(*_: object) -> None:
        raise Unavailable("throttled")

    def save_before_that(before: NamedJob | None, after: NamedJob) -> bool:
        broken.setattr(getattr(api.clockwork, port), name, fails)
        return save(before, after)

    def ask() -> Answer:
        return api.call("PATCH", path, {"payload": 7}) if call == "patch" else api.call("POST", f"{path}/resume")

    with monkeypatch.context() as broken:
        broken.setattr(api.clockwork.jobs, "save", save_before_that)
        assert ask().status == 503
    assert (ask().status, ask().body["revision"]) == (200, 3 if call == "resume" else 2)
    assert run(api, 3_600) == (420 if call == "resume" else 360)


def test_a_change_that_is_asked_for_again_tells_again_what_is_under_way() -> None:
    api = Api()
    path = f"/v1/jobs/{job_id(api)}"
    answers: list[Answer] = []

    def answer(delivery: Delivery) -> Outcome:
        calls = [("POST", f"{path}/pause")] * 2 + [("DELETE", path)] * 2
        answers.extend(api.call(method, where) for method, where in calls)
        return success(api.clockwork.clock.now())

    api.clockwork.targets._answer = answer
    run(api, 15)
    listed = [[execution["executionId"] for execution in answer.body["executions"]] for answer in answers]
    assert all(one == listed[0] for one in listed)
    assert len(listed[0]) == 1
    assert [answer.body.get("result") for answer in answers[2:]] == ["running"] * 2


def test_a_backfill_is_counted_and_bounded() -> None:
    api = Api()
    path = f"/v1/jobs/{job_id(api)}/backfill"
    run(api, 101)
    now = api.clockwork.clock.at
    whole = {"from": to_text(now - 101_000), "to": to_text(now), "maxPerSecond": 5}
    answer = api.call("POST", path, whole, headers={"idempotency-key": "k"})
    assert (answer.status, answer.body["count"]) == (202, 11)
    assert run(api, 5) == 11
    reversed_ = api.call("POST", path, {"from": whole["to"], "to": whole["from"], "maxPerSecond": 0})
    assert reversed_.pointers == ["/maxPerSecond"]
    future = api.call("POST", path, {**whole, "to": to_text(now + 99_000_000)})
    assert future.pointers == ["/to"]


def test_jobs_are_listed_by_prefix_state_and_tag_page_by_page() -> None:
    api = Api()
    for number in range(7):
        job_id(api, key=f"a-{number}", tags={"odd": str(number % 2)})
    deleted = job_id(api, key="a-9")
    paused = job_id(api, key="b-1")
    api.call("POST", f"/v1/jobs/{paused}/pause")
    api.call("DELETE", f"/v1/jobs/{deleted}")

    def keys(**query: str) -> list[str]:
        found: list[str] = []
        while True:
            page = api.call("GET", "/v1/jobs", query=query).body
            found += [item["jobKey"] for item in page["items"]]
            if "nextToken" not in page:
                return found
            query["nextToken"] = page["nextToken"]

    assert keys(limit="2") == [f"a-{n}" for n in range(7)] + ["b-1"]
    assert keys(prefix="b") == ["b-1"]
    assert keys(state="PAUSED") == ["b-1"]
    assert keys(state="CANCELLED") == ["a-9"]
    assert keys(tag="odd=1", limit="1") == ["a-1", "a-3", "a-5"]
    assert keys(tag="odd", prefix="a", limit="3") == [f"a-{n}" for n in range(7)]
    for query in ({"state": "x"}, {"nextToken": "%"}, {"limit": "0"}):
        assert api.call("GET", "/v1/jobs", query=query).status == 422
    assert api.call("GET", "/v1/jobs", query={"clientId": "acme"}, caller=BOB).status == 403


def test_a_preview_saves_nothing() -> None:
    api = Api()
    answer = api.call("POST", "/v1/schedules/preview", {"schedule": DAILY, "count": 3})
    assert [fire["local"][10:] for fire in answer.body["nextFires"]] == ["T01:30:00.000-05:00"] * 3
    assert answer.body["description"] == "At 01:30, every day."
    assert not api.writes
    once = api.call("POST", "/v1/schedules/preview", {"schedule": {"delaySeconds": 1}})
    assert len(once.body["nextFires"]) == 1


@pytest.mark.parametrize(
    ("schedule", "faults"),
    [
        ({"cron": "0 25 * * *"}, {"/schedule/cron": "hour 25 is out of 0-23 (column 3)"}),
        ({"cron": "61 25 * * *"}, {"/schedule/cron": "hour 25 is out of 0-23 (column 4)"}),
        ({"cron": "0 0 30 2 *"}, {"/schedule/cron": "never fires"}),
        ({"cron": "0 3 * * *", "timezone": "Mars/Phobos"}, {"/schedule/timezone": "Mars/Phobos"}),
        ({"cron": "* " * 200}, {"/schedule/cron": "at most 256"}),
        ({"every": {"seconds": 0.5}}, {"/schedule/every/seconds": "at least 1"}),
        ({"every": {"seconds": 1.00001}}, {"/schedule/every/seconds": "milliseconds"}),
        ({"every": {"seconds": 10}, "jitterSeconds": 10}, {"/schedule/jitterSeconds": "below the interval"}),
        ({"every": {"seconds": 10}, "dstGap": "skip"}, {"/schedule/dstGap": "cron alone"}),
        ({"cron": "@daily", "anchorAt": "2026-01-01T00:00:00Z"}, {"/schedule/anchorAt": "every alone"}),
        ({"cron": "@daily", "endAt": "2001-01-01T00:00:00Z"}, {"/schedule": "never fires"}),
        ({"cron": "@daily", "exclude": ["* * * * *"]}, {"/schedule": "never fires"}),
        ({"cron": "@daily", "exclude": ["2026-02-30", "x"]}, {"/schedule/exclude/0": "2026-02-30"}),
        ({"cron": "@daily", "every": {"seconds": 9}}, {"/schedule": "just one of"}),
        ({"delaySeconds": 1, "maxFires": 3}, {"/schedule/maxFires": "alone"}),
        ({"cron": "@daily", "catchUp": "some"}, {"/schedule/catchUp": "one of"}),
    ],
)
def test_a_schedule_is_refused_with_field_and_position(schedule: Any, faults: dict[str, str]) -> None:
    api = Api()
    answer = create(api, schedule=schedule)
    assert answer.status == 422
    found = dict(zip(answer.pointers, answer.details, strict=True))
    for pointer, words in faults.items():
        assert words in found[pointer]
    assert not api.writes


def test_a_schedule_that_recurs_needs_a_name() -> None:
    answer = Api().create(schedule=EVERY)
    assert answer.pointers == ["/jobKey"]


@pytest.mark.parametrize(
    "key", ["", "x" * 256, "\u00e9" * 128, "a\nb", "\x01", "a\u00a0b", "a\u200db", "\u2028", "\ue000"]
)
def test_a_key_is_printable_and_bounded(key: str) -> None:
    answer = create(Api(), key=key)
    assert (answer.status, answer.pointers) == (422, ["/jobKey"])
    hidden = next((f"; it holds U+{ord(one):04X}" for one in key if not one.isprintable()), "")
    assert answer.details == ["must be 1-255 bytes of UTF-8, of visible characters and plain spaces alone" + hidden]


def test_a_key_may_have_plain_spaces_and_letters_of_any_script() -> None:
    for key in ("a b", "\u00e9\u4e2d\u0639 \U0001f600", "~!/#"):
        assert create(Api(), key=key).status == 201


def test_a_batch_takes_named_and_anonymous_jobs_alike() -> None:
    api = Api()
    named = {**job_body(), "jobKey": "x", "schedule": EVERY}
    sent = {"jobs": [named, job_body(), {**named, "payload": 2}, named, {**named, "jobKey": "y", "schedule": {}}]}
    results = api.call("POST", "/v1/jobs/batch", sent).body["results"]
    assert [result["status"] for result in results] == [201, 201, 409, 200, 422]


def test_an_anonymous_job_cannot_be_changed() -> None:
    api = Api()
    anonymous = api.create().body["jobId"]
    for call in ("pause", "resume", "run"):
        answer = api.call("POST", f"/v1/jobs/{anonymous}/{call}")
        assert answer.status == 409
        assert "anonymous" in answer.details[0]


#: A hundred entries which leave one fire in eleven months of a schedule that fires at midnight.
HUNDRED = [*(f"{minute} 0 1-30 * *" for minute in range(60)), *(f"{minute} 5 * 1-11 *" for minute in range(40))]


def test_a_preview_of_more_work_than_a_request_may_cause_is_refused_with_its_reason() -> None:
    body = {"schedule": {"cron": "0 0 * * *", "exclude": HUNDRED}, "count": 100}
    refused = Api().call("POST", "/v1/schedules/preview", body)
    assert refused.status == 422
    (problem,) = refused.body["errors"]
    assert problem["pointer"] == "/schedule/exclude"
    assert "take too long" in problem["detail"]
    assert Api().call("POST", "/v1/schedules/preview", {**body, "count": 5}).status == 200


def test_an_old_job_with_exclusions_is_read_by_so_much_work_and_a_list_leaves_its_next_fire_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    api = Api()
    schedule = {"cron": "0 0 * * *", "exclude": HUNDRED[60:], "maxFires": 1_000_000}
    job_id = api.create(jobKey="old", schedule=schedule).body["jobId"]
    api.clockwork.clock.advance(2 * 365 * 86_400_000)
    spent: list[int] = []
    spend = Work.spend

    def counted(work: Work, units: int) -> None:
        spent.append(units)
        spend(work, units)

    monkeypatch.setattr(Work, "spend", counted)
    (listed,) = api.call("GET", "/v1/jobs").body["items"]
    assert (listed["state"], "nextFireAt" in listed) == ("ACTIVE", False)
    # It is refused before any day is counted.
    assert [units > LISTED_WORK for units in spent] == [True]
    spent.clear()
    shown = api.call("GET", f"/v1/jobs/{job_id}").body
    assert (shown["state"], len(shown["nextFires"]), shown["nextFireAt"]) == ("ACTIVE", 10, shown["nextFires"][0]["at"])
    assert 0 < sum(spent) <= SHOWN_WORK


@pytest.mark.long
def test_the_chain_of_a_job_of_sixty_years_is_not_counted_at_each_read(monkeypatch: pytest.MonkeyPatch) -> None:
    api = Api()
    schedule = {"cron": "0 0 * * *", "exclude": HUNDRED[60:], "maxFires": 1_000_000}
    job_id = api.create(jobKey="old", schedule=schedule).body["jobId"]
    api.clockwork.clock.advance(60 * 365 * 86_400_000)
    shards, now = api.clockwork.shards, api.clockwork.clock.at
    for partition_id in shards.list():
        lease = shards.acquire(partition_id, "poller", now, now + 1_000, edge_key(now))
        assert lease is not None
        assert shards.commit(msgspec.structs.replace(lease, cursor=edge_key(now - 1_000)))
    days, stretches = [0], counting._stretches

    def counted(*bounds: Any) -> Iterator[Any]:
        for day in stretches(*bounds):
            days[0] += 1
            yield day

    monkeypatch.setattr(counting, "_stretches", counted)
    shown = api.call("GET", f"/v1/jobs/{job_id}")
    assert (shown.status, shown.body["state"]) == (200, "ACTIVE")
    assert days[0] <= (CHECK_WORK + SHOWN_WORK) // counting.COST_OF_DAY
    # The audit, which has the time, finds out all the same that its pointer is gone.
    job = api.clockwork.jobs.get([("acme", "old")])[0]
    assert isinstance(job, NamedJob) and check_chain(api.clockwork.world, job)


def test_a_job_with_a_hundred_exclusions_is_created_and_read() -> None:
    api = Api()
    created = api.create(jobKey="rare", schedule={"cron": "0 0 * * *", "exclude": HUNDRED})
    assert created.status == 201, created.text
    shown = api.call("GET", f"/v1/jobs/{created.body['jobId']}")
    assert (shown.status, shown.body["state"], len(shown.body["nextFires"])) == (200, "ACTIVE", 10)
