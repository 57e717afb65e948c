"""The pages, as a reader sees them, of a Clockwork in virtual time."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from clockwork_client import http, retry
from clockwork_client.answers import text_of
from clockwork_client.attention import Activity, Attention, ClientRun
from clockwork_client.console import source
from clockwork_client.console.pages import attention, jobs
from clockwork_client.testing import VirtualClockwork
from clockwork_client.transport import Request, Response
from tests.console.scenes import DOWN, OK, ONCE, Shop
from tests.console.visitor import Visitor


def pages_of(shop: Shop) -> list[str]:
    """One address of each page."""
    return [
        "/",
        "/jobs",
        f"/jobs/{shop.sync.job_id}",
        f"/jobs/{shop.sync.job_id}/pause",
        f"/jobs/{shop.nightly.job_id}/fires",
        f"/executions/{shop.dead()[0]}",
        "/upcoming",
        "/dead",
        "/operations",
        "/operations/new?kind=redriveDead",
        "/operations/new?kind=pauseJobs&tag=team",
        "/changes",
    ]


class TestAttention:
    def test_a_failure_of_many_runs_is_one_thing(self, reader: Visitor) -> None:
        page = reader.look("/").words
        assert "1 thing needs you" in page
        assert "crm/sync 9 dead runs attempt 2 of 2 failed: answered 503 <b>upstream</b> connect error" in page

    def test_it_tells_what_ran_what_starts_and_how_late_runs_were(self, reader: Visitor) -> None:
        page = reader.look("/").words
        assert "3 active jobs, 0 paused. Of the last 12 runs half started within 0 ms of their instant" in page
        assert "In the last 30 minutes 3 runs succeeded and 9 failed" in reader.get("/").text
        assert "Next to start" in page
        assert "shop/heartbeat" in page

    def test_all_is_well_where_nothing_is_wrong(self) -> None:
        v = VirtualClockwork("2026-03-01T00:00:00Z")
        page = Visitor(v.client("calm"), v).enter().look("/").words
        assert "All is well. No dead runs, no open circuits, nothing parked or paused." in page

    def test_paused_jobs_and_retries_are_told(self, shop: Shop, reader: Visitor) -> None:
        shop.cw.jobs.pause(shop.heartbeat.job_id, "vendor migration")
        slowly = retry(initial_seconds=1_800, jitter="none")
        shop.make("crm/slow", http("https://down.example.org/hook"), every=3_600, retry=slowly)
        shop.v.advance(minutes=61)
        page = reader.look("/").words
        assert "shop/heartbeat paused vendor migration" in page
        assert "crm/slow retrying 1 run has failed, and will be tried again: answered 503" in page


class TestJobs:
    def test_each_job_is_a_row_and_those_that_fire_next_come_first(self, reader: Visitor) -> None:
        page = reader.look("/jobs").words
        assert page.index("crm/sync") < page.index("shop/heartbeat") < page.index("billing/nightly")
        assert "At 02:30, every day Europe/Berlin no run yet" in page
        assert "Every minute from its start" in page
        assert "3 of the last 3 runs succeeded" in reader.get("/jobs").text
        assert "failing crm/sync https://down.example.com/hook" in page

    @pytest.mark.parametrize(
        ("query", "found"),
        [
            ("q=NIGHT", {"billing/nightly"}),
            ("q=down.example", {"crm/sync"}),
            ("q=e.com", {"crm/sync", "shop/heartbeat", "billing/nightly"}),
            ("state=DEAD", {"crm/sync"}),
            ("state=PAUSED", set()),
            ("state=nonsense&tag=team%3Dshop", {"shop/heartbeat"}),
            ("q=sync&tag=team%3Dshop", set()),
        ],
    )
    def test_filters_mean_names_targets_states_and_tags(self, reader: Visitor, query: str, found: set[str]) -> None:
        page = reader.look(f"/jobs?{query}").words
        rows = page.partition("Named jobs")[2]
        assert {name for name in ("crm/sync", "shop/heartbeat", "billing/nightly") if name in rows} == found
        assert ("No job matches. Clear the filters" in page) == (not found)

    def test_without_jobs_there_is_a_first_one_to_make(self) -> None:
        v = VirtualClockwork("2026-03-01T00:00:00Z")
        page = Visitor(v.client("calm"), v).enter().look("/jobs").words
        assert "There is no named job yet" in page
        assert "clockwork job create --key first" in page

    def test_a_long_list_goes_on_by_pages(self) -> None:
        v = VirtualClockwork("2026-03-01T00:00:00Z")
        cw = v.client("many")
        for number in range(jobs.PAGE + 5):
            cw.schedule(OK, 1, key=f"job/{number:03}", cron="0 0 1 1 *")
        reader = Visitor(cw, v).enter()
        first, second = (reader.look(f"/jobs?sort=name&page={page}") for page in (1, 2))
        assert ("job/049" in first.text, "job/050" in first.text) == (True, False)
        assert ("job/049" in second.text, "job/054" in second.text) == (False, True)
        assert "50 more of 5" in first.words
        assert "50 before" in second.words


class TestJob:
    def test_it_says_why_and_shows_each_attempt_with_its_answer(self, shop: Shop, reader: Visitor) -> None:
        page = reader.look(f"/jobs/{shop.sync.job_id}").words
        assert "Why: The last 9 runs failed and will not be retried: attempt 2 of 2 failed: answered 503" in page
        assert "dead 01 Mar 2026 00:03:00 UTC 0 ms late 0 ms 2 attempts" in page
        assert "2 failed 01 Mar 2026 00:03:01 UTC 0 ms answered 503 <b>upstream</b> connect error" in page
        assert "Late by cause 0 ms Clockwork" in page

    def test_the_next_fires_are_in_the_zone_of_the_schedule(self, shop: Shop, reader: Visitor) -> None:
        page = reader.look(f"/jobs/{shop.nightly.job_id}").words
        assert "No run yet. The first is due 01 Mar 2026 01:30:00 UTC" in page
        assert "Sun 01 Mar 2026 02:30 +01:00 Mon 02 Mar 2026 02:30 +01:00" in page
        assert 'Payload { "for": "billing/nightly" }' in page

    def test_it_tells_when_the_clocks_change_and_leads_to_a_year_of_fires(self, shop: Shop, reader: Visitor) -> None:
        page = reader.look(f"/jobs/{shop.nightly.job_id}").words
        assert "Sun 29 Mar 2026 03:00 +02:00 The clock skips 02:30 that day, so it fires at 03:00." in page
        assert "Sun 25 Oct 2026 02:30 +02:00 02:30 comes twice that night. This is the first." in page
        year = reader.look(f"/jobs/{shop.nightly.job_id}/fires").words
        assert "clockwork job fires" in year
        assert year.count("+02:00") > 150
        assert "No clock change touches" not in page

    def test_older_runs_come_by_two_dozens(self, shop: Shop, reader: Visitor) -> None:
        shop.v.advance(minutes=10)
        first = reader.look(f"/jobs/{shop.sync.job_id}")
        assert first.text.count('<li id="run-') == 24
        assert f'href="/jobs/{shop.sync.job_id}?runs=48"' in first.text
        second = reader.look(f"/jobs/{shop.sync.job_id}?runs=48")
        assert second.text.count('<li id="run-') == 39
        assert "24 more" not in second.words

    def test_a_job_that_is_not_the_readers_is_not_there(self, shop: Shop, reader: Visitor) -> None:
        other = shop.v.client("other").schedule(OK, 1, key="secret", every=60)
        answer = reader.get(f"/jobs/{other.job_id}")
        assert (answer.status, "secret" in answer.words) == (404, False)

    @pytest.mark.parametrize(
        "path", ["/jobs/..", "/jobs/%2e%2e", "/jobs/.", "/executions/..%2f..", "/nowhere", "/jobs/" + "x" * 3_000]
    )
    def test_an_address_that_leads_nowhere_says_so(self, reader: Visitor, path: str) -> None:
        answer = reader.get(path)
        assert answer.status == 404
        assert "Start page" in answer.words


def test_a_run_shows_its_state_and_its_lateness_by_cause(shop: Shop, reader: Visitor) -> None:
    page = reader.look(f"/executions/{shop.dead()[0]}").words
    assert "Dead. attempt 2 of 2 failed: answered 503" in page
    assert "crm/sync" in page
    assert "Late by cause 0 ms" in page


def test_what_waited_for_the_clients_rate_is_told() -> None:
    slow = Shop(max_rate_per_second=0.05)
    slow.v.advance(minutes=2)
    late = next(one for one in slow.cw.executions.list(slow.heartbeat.job_id) if one.waited)
    page = Visitor(slow.cw, slow.v).enter().look(f"/executions/{late.execution_id}").words
    assert "rate cap" in page.partition("Late by cause")[2]


def test_upcoming_lists_jobs_without_a_name_too(shop: Shop, reader: Visitor) -> None:
    shop.cw.schedule(OK, 1, in_=1_800)
    page = reader.look("/upcoming?hours=1").words
    assert "one-off 01 Mar 2026 00:33:10 UTC" in page
    assert "billing/nightly" not in page
    assert "billing/nightly" in reader.look("/upcoming?hours=6").words


def test_the_dead_are_grouped_and_then_listed(shop: Shop, reader: Visitor) -> None:
    shop.cw.schedule(DOWN, 1, in_=1, retry=ONCE)
    shop.v.advance(seconds=5)
    page = reader.look("/dead").words
    assert "crm/sync 9 dead runs" in page
    assert "One-off jobs 1 dead run" in page
    only = reader.look("/dead?prefix=crm%2F").words
    assert "One-off jobs" not in only
    assert "Nothing dead matches. Clear the filter" in reader.look("/dead?prefix=nothing").words


def test_causes_of_more_than_one_page_are_counted_together_and_say_what_was_looked_at(
    shop: Shop, reader: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.cw.schedule(DOWN, 1, in_=1, retry=ONCE)
    shop.v.advance(seconds=5)
    attention_of, asked = shop.cw.clients.attention, list[object]()

    def short(**which: Any) -> Attention:
        asked.append(which)
        return attention_of(**which | {"page_size": 2})

    monkeypatch.setattr(reader.context.source.cw.clients, "attention", short)
    monkeypatch.setattr(source, "_CAUSES_CALLS", 3)
    page = reader.look("/dead")
    assert len(asked) == 3
    for told in ("Of the 6 dead runs that were looked at.", "crm/sync 5 dead runs", "Look at earlier ones"):
        assert told in page.words
    (link,) = re.findall(r'href="(/dead\?next=[^"]+)"', page.text)
    earlier = reader.look(link)
    assert "Of the next 4 dead runs that were looked at." in earlier.words
    assert "crm/sync 4 dead runs" in earlier.words
    assert "Back to the latest" in earlier.words
    assert "Look at earlier ones" not in earlier.words


def test_changes_tell_who_and_why_and_can_be_filtered(shop: Shop, reader: Visitor) -> None:
    shop.cw.jobs.pause(shop.heartbeat.job_id, "vendor migration")
    page = reader.look("/changes").words
    assert "Pause job shop/heartbeat user/shop" in page
    assert "vendor migration" in page
    assert "vendor migration" not in reader.look("/changes?job=crm").words
    assert "vendor migration" in reader.look("/changes?job=HEART&person=user%2Fshop").words
    assert "No change matches" in reader.look("/changes?person=user%2Fnobody").words


def test_no_page_makes_more_calls_than_told_and_a_second_look_makes_none(shop: Shop) -> None:
    reader = Visitor(shop.cw, shop.v).enter()
    reader.context.source._reads._clock = lambda: 0.0
    made: Counter[str] = Counter()
    send = shop.cw._caller._transport

    def counted(request: Request) -> Response:
        made[now_at] += 1
        return send(request)

    shop.cw._caller._transport = counted
    now_at = "first"
    reader.look("/changes")  # whoami and its clients, which are asked for once a minute
    for path in pages_of(shop):
        now_at = path
        reader.look(path)
        now_at = f"again {path}"
        reader.get(path)
    assert {path: count for path, count in made.items() if path.startswith("again")} == {}
    assert max(count for path, count in made.items() if path != "first") <= 8, made


def test_a_search_goes_beyond_the_jobs_that_a_list_holds(
    shop: Shop, reader: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "MOST_JOBS", 2)
    listed = reader.look("/jobs?sort=name").words
    assert "2 of 2. The client has more jobs than were looked at." in listed
    assert "shop/heartbeat" not in listed
    found = reader.look("/jobs?q=HEART").words
    assert "shop/heartbeat" in found
    assert "1 of 1 match." in found


def test_a_long_list_of_jobs_is_asked_for_seldom(shop: Shop, reader: Visitor) -> None:
    for number in range(200):
        shop.make(f"tenant/{number:03}", OK, cron="0 0 1 1 *")
    reader.look("/jobs")
    kept = reader.context.source._jobs_kept["shop"]
    assert kept == pytest.approx(203 / 20)


def test_a_full_page_of_jobs_has_the_runs_of_all_by_a_few_calls(shop: Shop, reader: Visitor) -> None:
    for number in range(60):
        shop.make(f"tenant/{number:02}", OK, every=90 + number)
    shop.cw.jobs.pause(shop.heartbeat.job_id, "why")
    shop.v.advance(minutes=10)
    send, made = shop.cw._caller._transport, list[str]()

    def counted(request: Request) -> Response:
        made.append(request.url)
        return send(request)

    shop.cw._caller._transport = counted
    first = reader.look("/jobs?page=1")
    assert len([one for one in made if "include=runs" in one]) <= 2
    assert len(made) <= 8
    assert first.text.count('class="strip"') == jobs.PAGE
    made.clear()
    second = reader.look("/jobs?page=2")
    assert len([one for one in made if "include=runs" in one]) <= 3
    assert "paused" in second.words
    assert "not looked at" not in first.words + second.words
    assert second.text.count('class="strip"') >= 12


def test_the_river_has_the_runs_of_one_off_jobs_and_of_jobs_that_fire_seldom(shop: Shop, reader: Visitor) -> None:
    assert "3 runs succeeded and 9 failed" in reader.look("/").text
    for _ in range(40):
        shop.cw.schedule(OK, 1, in_=1)
    shop.cw.schedule(DOWN, 1, in_=1, retry=ONCE)
    shop.v.advance(seconds=5)
    reader.context.source.forget()
    page = reader.look("/").text
    assert "43 runs succeeded and 10 failed" in page
    assert "99 % within 10 ms" in page


class TestCounts:
    """The past of the river: counts of all environments, and what they have not told yet."""

    NOW = datetime(2026, 3, 1, 12, 0, 30, tzinfo=UTC)

    def told(self, activity: Activity | None, *runs: tuple[int, str]) -> Counter[tuple[int, str]]:
        """By minutes before now and tone: how many."""
        found = [
            ClientRun({"executionId": "e", "jobId": "j", "state": state, "attempts": 1,
                       "dueAt": text_of(self.NOW - timedelta(minutes=ago))})
            for ago, state in runs
        ]  # fmt: skip
        counted = Counter[tuple[int, str]]()
        for at, tone, count in attention.counts(activity, found, self.NOW):
            counted[round((self.NOW - at).total_seconds()) // 60, tone] += count
        return +counted

    def activity(self, **steps: int) -> Activity:
        none = dict.fromkeys(("started", "failed", "dead", "skipped", "expired", "cancelled"), 0)
        items = [
            {**none, "at": text_of(self.NOW.replace(second=0) - timedelta(minutes=int(ago[1:]))), "succeeded": count}
            for ago, count in steps.items()
        ]
        return Activity({"clientId": "c", "step": 60, "items": items, "completeFrom": text_of(self.NOW)})

    def test_a_run_is_not_told_twice(self) -> None:
        assert self.told(self.activity(m5=7), (5, "SUCCEEDED"), (5, "DEAD")) == {(5, "ok"): 7}

    def test_the_last_minutes_are_those_of_whichever_knows_more(self) -> None:
        assert self.told(self.activity(m5=7, m1=1), (0, "DEAD"), (1, "SUCCEEDED")) == {
            (5, "ok"): 7,
            (0, "bad"): 1,
            (1, "ok"): 1,
        }
        assert self.told(self.activity(m0=9), (0, "DEAD")) == {(0, "ok"): 9}

    def test_what_is_under_way_is_in_no_count_yet(self) -> None:
        assert self.told(self.activity(m5=7), (5, "RUNNING"), (6, "PENDING")) == {
            (5, "ok"): 7,
            (5, "run"): 1,
            (6, "wait"): 1,
        }

    def test_without_counts_there_are_the_runs_of_named_jobs(self) -> None:
        assert self.told(None, (5, "SUCCEEDED"), (5, "RUNNING")) == {(5, "ok"): 1, (5, "run"): 1}


def test_every_page_has_one_title_of_its_own_and_no_script_or_style_in_it(shop: Shop, reader: Visitor) -> None:
    titles = Counter[str]()
    for path in pages_of(shop):
        text = reader.look(path).text
        titles[text.partition("<title>")[2].partition("</title>")[0]] += 1
        assert text.count("<h1") == 1, path
        assert text.count("<script") == 2, path
        assert "style=" not in text, path
    assert set(titles.values()) == {1}, titles
    assert all(title.endswith(" · shop · Clockwork") for title in titles)


def test_the_first_page_weighs_little(reader: Visitor) -> None:
    files = ["htmx.min.js", "console.js", "tokens.css", "console.css", "inter.woff2", "icon.svg"]
    packed = [reader.get(f"/static/{name}", accept_encoding="gzip") for name in files]
    assert sum(one.size for one in packed) + reader.look("/").size <= 120 * 1024


class TestRunsPage:
    """Runs across jobs."""

    def test_it_shows_the_runs_of_all_named_jobs_and_how_far_they_are_complete(self, reader: Visitor) -> None:
        words = reader.look("/runs").words
        for told in ("Of 3 named jobs, complete from", "One-off jobs are not in it.", "succeeded, 1 attempt",
                     "dead, 2 attempts"):  # fmt: skip
            assert told in words
        assert "shop/heartbeat" in words

    def test_it_shows_the_runs_of_all_jobs_if_the_client_has_an_index_and_says_how_it_gets_one(self) -> None:
        v = VirtualClockwork("2026-03-01T00:00:00Z")
        reader = Visitor(v.client("shop"), v).enter()
        answer = reader.look("/runs?jobs=all")
        assert "an admin sets its option runsIndex" in answer.words
        assert '<option value="all" selected>' in answer.text
        shop = v.client("shop", runs_index=True)
        v.advance(minutes=1)
        for number in range(3):
            shop.schedule(http("https://hooks.example.com/"), {"n": number}, in_=5)
        v.advance(minutes=1)
        words = reader.look("/runs?jobs=all").words
        assert "Of 3 ended runs, complete from" in words
        assert "one-off" in words
        assert "One-off jobs are not in it" not in words

    def test_a_filter_goes_to_the_api_and_a_refused_one_is_told(self, reader: Visitor) -> None:
        assert "succeeded, 1 attempt" not in reader.look("/runs?state=DEAD").words
        assert "No run matches." in reader.look("/runs?prefix=nothing").words
        answer = reader.look("/runs?from=yesterday")
        assert "?from" in answer.words
        assert 'value="yesterday"' in answer.text

    def test_without_a_run_it_says_so(self) -> None:
        v = VirtualClockwork("2026-03-01T00:00:00Z")
        assert "Nothing ran in this time." in Visitor(v.client("shop"), v).enter().look("/runs").words
