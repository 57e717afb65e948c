"""The form of a job: its preview, the review before a write, and everything that may go wrong between them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bench.billing import handed
from clockwork_client.console import forms, prices
from clockwork_client.results import Job
from tests.console.scenes import OK, Shop
from tests.console.test_actions import Line
from tests.console.visitor import Answer, Visitor, forms_of

BERLIN = {"way": "cron", "cron": "30 2 * * *", "timezone": "Europe/Berlin"}


def step(reader: Visitor, page: str | Answer, to: str, name: str, **fields: str) -> Answer:
    """Press a button of the form, with some fields filled in."""
    answer = reader.get(page) if isinstance(page, str) else page
    (form,) = [one for one in forms_of(answer) if one.action == to]
    return reader.follow(reader.post(to, {**form.fields, **fields, "step": name}))


class TestNew:
    """A job that does not exist yet."""

    def test_it_is_reviewed_and_then_made(self, shop: Shop, reader: Visitor) -> None:
        review = step(reader, "/jobs/new", "/jobs/new", "review", key="close", target="https://example.com/ok",
                      tags="team=billing\nurgent=yes", payload='{"order": 17}', **BERLIN)  # fmt: skip
        assert review.status == 200, review.words
        for told in ("Review the new job", "/schedule/cron", '"30 2 * * *"', "Sun 01 Mar 2026", "per million runs"):
            assert told in review.words
        assert shop.cw.jobs.find("close") is None
        done = step(reader, review, "/jobs/new", "write")
        assert "It was created. It fires first at 01 Mar 2026 01:30:00 UTC." in done.words
        made = shop.cw.jobs.find("close")
        assert made is not None
        assert (made.tags, shop.cw.jobs.get(made.job_id).payload) == (
            {"team": "billing", "urgent": "yes"},
            {"order": 17},
        )

    def test_without_a_name_it_runs_once(self, shop: Shop, reader: Visitor) -> None:
        review = step(reader, "/jobs/new", "/jobs/new", "review", way="at", at="2026-03-01T00:05:00Z",
                      target="https://example.com/once")  # fmt: skip
        step(reader, review, "/jobs/new", "write")
        shop.v.advance(minutes=3)
        assert [one.payload for one in shop.v.deliveries if "once" in one.target.raw["url"]] == [{}]

    def test_the_way_back_keeps_everything_that_was_typed(self, reader: Visitor) -> None:
        review = step(reader, "/jobs/new", "/jobs/new", "review", key="close", target="https://example.com/ok",
                      payload='{"a":\n  1}', **BERLIN)  # fmt: skip
        (form,) = [one for one in forms_of(step(reader, review, "/jobs/new", "back")) if one.action == "/jobs/new"]
        assert (form.fields["key"], form.fields["cron"], form.fields["payload"]) == (
            "close",
            "30 2 * * *",
            '{"a":\n  1}',
        )

    @pytest.mark.parametrize(
        ("fields", "field", "says"),
        [
            ({"cron": "61 2 * * *"}, "cron", ""),
            ({"timezone": "Mars/Base"}, "timezone", ""),
            ({"way": "every", "every": "soon"}, "way", "a number of seconds is missing"),
            ({"way": "never"}, "way", "choose one of cron, every and at"),
            ({"payload": "{1"}, "payload", "is not JSON"),
            ({"payload": "NaN"}, "payload", "is not JSON: NaN"),
            ({"payload": "[" * 50_000}, "payload", "is nested too deep"),
            ({"payload": '"\\ud800"'}, "payload", "has half of a character"),
            ({"payload": '{"a": [1e999]}'}, "payload", "has a number that is too large"),
            ({"way": "every", "every": "inf"}, "way", "a number of seconds is missing"),
            ({"way": "every", "every": "nan"}, "way", "a number of seconds is missing"),
            ({"tags": "team"}, "tags", "one tag a line: name=value"),
            ({"rest": "[]"}, "rest", "has to be a JSON object"),
            ({"rest": '{"retryPolicy": {"maxAttempts": 0}}'}, "rest", ""),
            ({"target": "ftp://example.com"}, "target", ""),
            ({"key": "x" * 2_000}, "key", ""),
        ],
    )
    def test_a_fault_stands_beside_its_field(
        self, shop: Shop, reader: Visitor, fields: dict[str, str], field: str, says: str
    ) -> None:
        given = {"key": "close", "target": "https://example.com/ok", **BERLIN, **fields}
        answer = step(reader, "/jobs/new", "/jobs/new", "review", **given)
        assert answer.status == 422
        assert f'id="{field}-fault"' in answer.text
        assert says in answer.region(f"{field}-fault")
        (form,) = [one for one in forms_of(answer) if one.action == "/jobs/new"]
        assert {name: form.fields[name] for name in fields if name != "way"} == {
            name: value for name, value in fields.items() if name != "way"
        }
        assert shop.cw.jobs.find("close") is None

    def test_a_name_that_is_taken_is_told_with_the_form(self, reader: Visitor) -> None:
        answer = step(
            reader, "/jobs/new", "/jobs/new", "review", key="crm/sync", target="https://example.com", **BERLIN
        )
        assert answer.status == 409
        assert "names another job" in answer.words

    def test_a_lost_answer_is_repeated_under_its_key(self, shop: Shop, reader: Visitor) -> None:
        review = step(reader, "/jobs/new", "/jobs/new", "review", way="at", at="2026-03-01T00:05:00Z",
                      target="https://example.com/once")  # fmt: skip
        line = Line(shop)
        line.lose_answers()
        lost = step(reader, review, "/jobs/new", "write")
        assert "Nobody knows whether it was done. A repeat is safe:" in lost.words
        line.fate = line.send
        (again,) = [one for one in forms_of(lost) if one.action == "/jobs/new"]
        assert "It was created." in reader.follow(reader.post("/jobs/new", again.fields)).words
        assert len({*line.keys}) == 1
        shop.v.advance(minutes=3)
        assert len([one for one in shop.v.deliveries if "once" in one.target.raw["url"]]) == 1


class TestEdit:
    """A named job."""

    def test_only_what_was_touched_is_changed(self, shop: Shop, reader: Visitor) -> None:
        to = f"/jobs/{shop.nightly.job_id}/edit"
        before = shop.cw.jobs.get(shop.nightly.job_id)
        review = step(reader, to, to, "review", cron="45 2 * * *")
        for told in ("/schedule/cron", '"30 2 * * *"', '"45 2 * * *"', "It fires otherwise from now on.",
                     "None is in flight.", "clockwork job update", "--if-revision 1"):  # fmt: skip
            assert told in review.words
        assert shop.cw.jobs.get(shop.nightly.job_id).raw == before.raw
        done = step(reader, review, to, "write")
        assert "It was changed: revision 2." in done.words
        after = shop.cw.jobs.get(shop.nightly.job_id)
        assert {name for name in after.raw if after.raw[name] != before.raw.get(name)} == {
            *("schedule", "revision", "changedAt", "nextFires", "nextFireAt", "description")
        }

    def test_the_review_tells_what_becomes_of_what_is_in_flight(self, shop: Shop, reader: Visitor) -> None:
        shop.v.advance(seconds=10, milliseconds=500)  # its second attempt is to come
        to = f"/jobs/{shop.sync.job_id}/edit"
        review = step(reader, to, to, "review", payload='{"other": 1}')
        assert "It fires as before." in review.words
        assert "1 execution waits, and goes on by the new definition." in review.words

    def test_nothing_that_differs_is_said_so(self, shop: Shop, reader: Visitor) -> None:
        to = f"/jobs/{shop.sync.job_id}/edit"
        assert "Nothing differs from revision 1." in step(reader, to, to, "review").words

    def test_somebody_else_came_first_and_both_versions_are_shown(self, shop: Shop, reader: Visitor) -> None:
        to = f"/jobs/{shop.nightly.job_id}/edit"
        opened = reader.get(to)
        shop.cw.jobs.patch(shop.nightly.job_id, {"schedule": {"cron": "0 5 * * *"}, "tags": {"by": "other"}})
        answer = step(reader, opened, to, "review", cron="45 2 * * *")
        assert answer.status == 409
        for told in (
            "Somebody changed it meanwhile",
            "Both versions",
            "0 5 * * *",
            "45 2 * * *",
            "changed by user/shop",
        ):
            assert told in answer.words
        review = step(reader, answer, to, "review")
        assert '"0 5 * * *"' in review.words
        assert "/tags" not in review.words
        step(reader, review, to, "write")
        after = shop.cw.jobs.get(shop.nightly.job_id)
        assert (after.schedule.cron if after.schedule else None, after.tags) == ("45 2 * * *", {"by": "other"})

    def test_a_change_between_review_and_write_is_a_conflict_too(self, shop: Shop, reader: Visitor) -> None:
        to = f"/jobs/{shop.nightly.job_id}/edit"
        review = step(reader, to, to, "review", payload="7")
        shop.cw.jobs.pause(shop.nightly.job_id)
        answer = step(reader, review, to, "write")
        assert answer.status == 409
        assert shop.cw.jobs.get(shop.nightly.job_id).payload != 7

    def test_a_value_that_no_page_shows_exactly_is_left_alone(self, shop: Shop, reader: Visitor) -> None:
        hidden = shop.make("hidden", OK, every=60)
        shop.cw.jobs.patch(hidden.job_id, {"payload": "x" * 120_000})
        to = f"/jobs/{hidden.job_id}/edit"
        page = reader.get(to)
        assert page.text.count("A page cannot show it exactly") == 1
        review = step(reader, page, to, "review", every="90")
        step(reader, review, to, "write")
        after = shop.cw.jobs.get(hidden.job_id)
        assert after.payload == "x" * 120_000
        assert after.schedule is not None and after.schedule.every is not None and after.schedule.every.seconds == 90

    def test_invisible_characters_come_back_as_they_were(self, shop: Shop, reader: Visitor) -> None:
        to = f"/jobs/{shop.nightly.job_id}/edit"
        shop.cw.jobs.patch(shop.nightly.job_id, {"payload": "a\u202eb"})
        review = step(reader, to, to, "review", payload=r'"a\u202ec"')
        step(reader, review, to, "write")
        assert shop.cw.jobs.get(shop.nightly.job_id).payload == "a\u202ec"

    def test_a_job_that_cannot_be_changed_says_so(self, shop: Shop, reader: Visitor) -> None:
        once = shop.cw.schedule(OK, 1, in_=600)
        for job_id in (once.job_id, "nobody"):
            assert reader.get(f"/jobs/{job_id}/edit").status == 404
        assert Visitor(shop.cw, shop.v, is_read_only=True).enter().get(f"/jobs/{shop.sync.job_id}/edit").status == 404


class TestPreview:
    """The region beside the form, while somebody types."""

    def test_words_fires_shifts_and_price(self, reader: Visitor) -> None:
        answer = reader.get("/jobs/preview?way=cron&cron=30+2+*+*+*&timezone=Europe/Berlin")
        for told in ("At 02:30", "per million runs", "about 30 runs a month"):
            assert told in answer.words
        assert answer.text.count("<li>") == 10
        assert "<html" not in answer.text

    def test_it_marks_the_night_when_the_clock_skips(self) -> None:
        shop = Shop("2026-03-25T00:00:00Z")
        reader = Visitor(shop.cw, shop.v).enter()
        told = reader.get("/jobs/preview?way=cron&cron=30+2+*+*+*&timezone=Europe/Berlin").words
        assert "The clock skips 02:30 that day, so it fires at 03:00." in told

    @pytest.mark.parametrize("query", ["", "way=cron&cron=x", "way=every&every=", "way=at&at=noon", "way=zzz"])
    def test_half_of_a_schedule_is_no_failure(self, reader: Visitor, query: str) -> None:
        answer = reader.get(f"/jobs/preview?{query}")
        assert answer.status == 200
        assert "per million" not in answer.words

    def test_an_empty_form_is_no_fault_and_a_fault_is_told_alone(self, reader: Visitor) -> None:
        for query in ("", "way=cron&cron=", "way=every&every=+"):
            assert reader.get(f"/jobs/preview?{query}").words == "Preview The next fires show here while you type."
        told = reader.get("/jobs/preview?way=cron&cron=30").words
        assert told.startswith("Preview expected 5 fields")


class TestForms:
    """The pure functions behind the form."""

    @pytest.mark.parametrize(
        ("before", "after"),
        [({}, {"a": 1}), ({"a": 1}, {}), ({"a": {"b": 1, "c": 2}}, {"a": {"b": 2}}), ({"a": [1]}, {"a": {"b": 1}}),
         ({"a": {"b": 1}}, {"a": 1}), ({"a": 1, "b": {"c": {}}}, {"a": 1, "b": {"c": {"d": 1}}})],
    )  # fmt: skip
    def test_a_patch_makes_the_one_into_the_other(self, before: Any, after: Any) -> None:
        from clockwork.edge.operations.named_jobs import merged

        assert merged(before, forms.patch_of(before, after)) == after

    def test_a_field_that_nobody_touched_has_the_present_value(self) -> None:
        form = {"cron": "old", "was_cron": forms.digest("old"), "timezone": "new", "was_timezone": forms.digest("UTC")}
        form |= {"tags": "a=b\r\nc=d", "was_tags": forms.digest("a=b\nc=d")}
        now = dict.fromkeys(forms.NAMES, "now")
        assert forms.merged(form, now) == {**now, "timezone": "new"}

    @pytest.mark.parametrize(
        "schedule",
        [
            {"every": {"seconds": 1.5}, "anchorAt": "2026-03-01T00:00:00Z"},
            {"at": "2026-03-01T00:00:00Z"},
            {"cron": "0 3 * * *", "timezone": "UTC", "exclude": ["2026-12-25"]},
        ],
    )
    def test_the_fields_of_each_kind_of_job_make_its_definition_again(self, schedule: dict[str, Any]) -> None:
        definition = {"schedule": schedule, "target": {"type": "sqs", "queueArn": "arn"}, "payload": [1]}
        definition |= {"tags": {"a": "b=c"}}
        job = Job({"jobId": "j", "clientId": "c", "state": "ACTIVE", "jobKey": "k", **definition})
        assert forms.definition_of(forms.fields_of(job)) == definition

    def test_each_pointer_leads_to_a_field(self) -> None:
        led = {"/schedule/cron": "cron", "/schedule/exclude/0": "way", "/target/headers/x": "target", "/x": "rest"}
        assert {one: forms.field_of(one) for one in led} == led
        assert forms.field_of("") == "rest"


class TestPrices:
    """The price of a run."""

    def test_its_units_are_those_that_were_metered(self) -> None:
        """`python -m bench.billing.handed` writes the file."""
        assert handed.FILE.read_text(encoding="utf-8") == handed.written()
        assert json.loads(handed.written())["recurring_fire"]["writeUnits"] > 2

    def test_a_run_alone_costs_more_than_one_among_ten(self) -> None:
        found = prices.price(recurs=True)
        assert 1 < found.full < found.alone < 20
        assert prices.price(recurs=True, overlap="skip").full > found.full
        assert found.says.startswith(f"about ${found.full:.2f} to ${found.alone:.2f} per million runs")
