"""The buttons: what they do, and that the sentence about it is true, whatever the API answers."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from clockwork_client.console.actions import LABELS
from clockwork_client.testing import Answer, Delivery
from clockwork_client.transport import NoAnswer, Request, Response
from tests.console.scenes import DOWN, OK, TWICE, Shop
from tests.console.visitor import Visitor, forms_of


class Line:
    """The network between the console and the API: what happens to calls that change something."""

    def __init__(self, shop: Shop) -> None:
        self.send = shop.cw._caller._transport
        self.keys: list[str] = []
        self.fate: Callable[[Request], Response] = self.send
        shop.cw._caller._transport = self
        shop.cw._caller._deadline = 1.0

    def __call__(self, request: Request) -> Response:
        if request.method == "GET":
            return self.send(request)
        self.keys.append(request.headers.get("Idempotency-Key", ""))
        return self.fate(request)

    def refuse(self, status: int, **problem: object) -> None:
        self.fate = lambda _: Response(status, {}, json.dumps(problem).encode())

    def lose_answers(self) -> None:
        def lost(request: Request) -> Response:
            self.send(request)
            raise NoAnswer("the connection broke")

        self.fate = lost


@pytest.fixture
def line(shop: Shop) -> Line:
    return Line(shop)


def test_run_now_runs_it_once_even_if_the_button_is_pressed_twice(shop: Shop, reader: Visitor) -> None:
    page, to = f"/jobs/{shop.heartbeat.job_id}", f"/jobs/{shop.heartbeat.job_id}/run"
    fields = next(one.fields for one in forms_of(reader.get(page)) if one.action == to)
    before = len(shop.v.deliveries)
    for _ in range(2):
        assert "A run was asked for" in reader.follow(reader.post(to, fields)).region("flash")
    shop.v.advance(seconds=1)
    assert len(shop.v.deliveries) == before + 1


def test_a_pause_needs_no_reason_and_shows_the_one_it_was_given(shop: Shop, reader: Visitor) -> None:
    page, to = f"/jobs/{shop.heartbeat.job_id}", f"/jobs/{shop.heartbeat.job_id}/pause"
    answer = reader.submit(page, to, reason="window <b>tonight</b>")
    assert "Paused. What was due before goes on." in answer.words
    assert "by user/shop: window <b>tonight</b>" in answer.words
    assert shop.cw.jobs.get(shop.heartbeat.job_id).state == "PAUSED"
    resumed = reader.submit(page, f"{page}/resume")
    assert "Resumed. The next fire is at 01 Mar 2026 00:04:00 UTC." in resumed.words
    assert "flash" not in reader.get(page).text  # a message is shown once


def test_the_form_of_a_pause_is_a_page_too_for_those_without_scripts(shop: Shop, reader: Visitor) -> None:
    page = f"/jobs/{shop.heartbeat.job_id}"
    answer = reader.submit(f"{page}/pause", f"{page}/pause", reason="by hand")
    assert "by hand" in answer.words


def test_a_reason_that_is_refused_is_shown_beside_its_field_with_what_was_typed(shop: Shop, reader: Visitor) -> None:
    page = f"/jobs/{shop.heartbeat.job_id}"
    answer = reader.submit(page, f"{page}/pause", reason="x" * 2_000)
    assert answer.status == 422
    assert "/reason" in answer.words
    assert "x" * 2_000 in answer.text
    assert 'aria-invalid="true"' in answer.text
    assert shop.cw.jobs.get(shop.heartbeat.job_id).state == "ACTIVE"


class TestCancels:
    """The three answers to a cancel."""

    def test_cancelled(self, shop: Shop, reader: Visitor) -> None:
        page = f"/jobs/{shop.heartbeat.job_id}"
        answer = reader.submit(page, f"{page}/cancel")
        assert "Cancelled. No attempt starts after this moment." in answer.words
        assert "It was cancelled: nothing of it fires any more." in answer.words
        assert "Run now" not in answer.words

    def test_running(self, shop: Shop, reader: Visitor) -> None:
        page, told = f"/jobs/{shop.heartbeat.job_id}", []

        def answering(delivery: Delivery) -> Answer:
            told.append(reader.submit(page, f"{page}/cancel").region("flash"))
            return Answer(200)

        shop.v.on_deliver(lambda one: answering(one) if one.job_key == "shop/heartbeat" else Answer(200))
        shop.v.advance(minutes=1)
        assert "Attempt 1 started 01 Mar 2026 00:04:00 UTC and may still arrive. None follows." in told[0]

    def test_too_late(self, shop: Shop, reader: Visitor) -> None:
        one = shop.cw.schedule(OK, 1, in_=1)
        to = f"/jobs/{one.job_id}"
        fields = next(each.fields for each in forms_of(reader.get(to)) if each.action == f"{to}/cancel")
        shop.v.advance(seconds=2)
        answer = reader.follow(reader.post(f"{to}/cancel", fields))
        assert "It had ended: succeeded at 01 Mar 2026 00:03:11 UTC." in answer.words


class TestRuns:
    """The buttons of one execution."""

    def test_a_redrive_delivers_it_after_all(self, shop: Shop, reader: Visitor) -> None:
        one = shop.dead()[0]
        shop.v.on_deliver(lambda _: Answer(200))
        answer = reader.submit(f"/executions/{one}", f"/executions/{one}/redrive")
        assert "It will be delivered again, with a fresh budget of attempts." in answer.words
        shop.v.advance(seconds=5)
        assert shop.cw.executions.get(one).state == "SUCCEEDED"

    def test_a_redrive_of_what_is_not_dead_is_refused(self, shop: Shop, reader: Visitor) -> None:
        one = next(iter(shop.cw.executions.list(shop.heartbeat.job_id))).execution_id
        to = f"/executions/{one}/redrive"
        token = reader.sessions.form_token(reader.cookie.partition("=")[2], to)
        answer = reader.follow(reader.post(to, {"_token": token}))
        assert "It is not as this page showed it" in answer.words

    def test_a_discard_takes_away_that_one_alone(self, shop: Shop, reader: Visitor) -> None:
        before = shop.dead()
        answer = reader.submit(f"/executions/{before[3]}", f"/executions/{before[3]}/discard")
        assert "Discarded." in answer.words
        assert shop.dead() == [one for one in before if one != before[3]]

    def test_a_discard_that_would_take_away_others_takes_away_none(self, shop: Shop, reader: Visitor) -> None:
        shop.make("crm/sync-two", DOWN, every=20, anchor_at="2026-03-01T00:00:00Z", retry=TWICE)
        shop.v.advance(minutes=1)
        before = shop.dead()
        one = next(each for each in before if each.startswith(shop.sync.job_id + "."))
        answer = reader.submit(f"/executions/{one}", f"/executions/{one}/discard")
        assert "Nothing was discarded: 2 dead executions would be meant" in answer.words
        assert shop.dead() == before

    def test_a_run_that_waits_is_cancelled(self, shop: Shop, reader: Visitor) -> None:
        shop.v.advance(seconds=10, milliseconds=500)
        one = next(iter(shop.cw.executions.list(shop.sync.job_id)))
        assert one.state == "FAILED"
        answer = reader.submit(f"/executions/{one.execution_id}", f"/executions/{one.execution_id}/cancel")
        assert "Cancelled. No attempt of it starts after this moment." in answer.words


class TestFailures:
    """Calls that do not go well."""

    def test_without_a_certain_answer_the_button_comes_again_with_its_key(
        self, shop: Shop, reader: Visitor, line: Line
    ) -> None:
        page, before = f"/jobs/{shop.heartbeat.job_id}", len(shop.v.deliveries)
        line.lose_answers()
        answer = reader.submit(page, f"{page}/run")
        assert "Nobody knows whether it was done. A repeat is safe:" in answer.words
        (repeat,) = [one for one in forms_of(answer) if one.action == f"{page}/run"][:1]
        assert repeat.fields["key"] == line.keys[0]
        line.fate = line.send
        assert "A run was asked for" in reader.follow(reader.post(f"{page}/run", repeat.fields)).words
        assert set(line.keys) == {repeat.fields["key"]}
        ran = [one for one in shop.v.deliveries[before:] if one.job_key == "shop/heartbeat"]
        shop.v.advance(seconds=5)
        assert len(ran) <= 1

    @pytest.mark.parametrize(
        ("status", "problem", "told"),
        [
            (403, {"detail": "not yours"}, "Your role may not do this: not yours clockwork whoami"),
            (403, {"message": "The security token included in the request is expired"},
             "Your AWS credentials are missing or have expired"),
            (409, {"detail": "it changed meanwhile"}, "It is not as this page showed it: it changed meanwhile"),
            (429, {"detail": "too many changes"}, "Too many calls at once: too many changes"),
            (404, {"detail": "there is no such job"}, "There is no such thing of yours: there is no such job"),
            (413, {"detail": "too long"}, "The API refused it: too long"),
        ],
    )  # fmt: skip
    def test_a_refusal_is_a_sentence_above_the_page(
        self, shop: Shop, reader: Visitor, line: Line, status: int, problem: dict[str, str], told: str
    ) -> None:
        page = f"/jobs/{shop.heartbeat.job_id}"
        line.refuse(status, **problem)
        answer = reader.submit(page, f"{page}/run")
        assert answer.status == 200
        assert told in answer.words
        assert "shop/heartbeat" in answer.words

    def test_an_api_out_of_reach_did_nothing(self, shop: Shop, reader: Visitor, line: Line) -> None:
        def unreachable(_: Request) -> Response:
            raise NoAnswer("no route", was_sent=False)

        line.fate = unreachable
        page = f"/jobs/{shop.heartbeat.job_id}"
        answer = reader.submit(page, f"{page}/pause", reason="why")
        assert "The API could not be reached, so nothing was done." in answer.words
        repeat = next(one for one in forms_of(answer) if one.action == f"{page}/pause")
        assert repeat.fields["reason"] == "why"


class TestReadOnly:
    """`--read-only`: no route changes anything."""

    def test_no_button_is_shown_and_no_route_is_there(self, shop: Shop) -> None:
        reader = Visitor(shop.cw, shop.v, is_read_only=True).enter()
        page, one = f"/jobs/{shop.heartbeat.job_id}", f"/executions/{shop.dead()[0]}"
        for path in (page, one, "/dead"):
            answer = reader.look(path)
            assert forms_of(answer) == [], path
        session = reader.cookie.partition("=")[2]
        targets = [*(f"{page}/{verb}" for verb in LABELS), f"{one}/redrive", "/operations/new", "/operations/1/stop"]
        for to in targets:
            answer = reader.post(to, {"_token": reader.sessions.form_token(session, to)})
            assert answer.status in (404, 405), to
        assert reader.get(f"{page}/pause").status == 404


class TestClients:
    """A reader who acts for more than one client."""

    def test_an_admin_chooses_among_all_and_no_other(self, shop: Shop) -> None:
        shop.v.client("bakery").schedule(OK, 1, key="bread", every=60)
        reader = Visitor(shop.v.admin, shop.v).enter()
        assert "bread" in reader.look("/jobs").words
        answer = reader.submit("/jobs", "/client", client="shop")
        assert "The pages are about shop now." in answer.words
        assert "crm/sync" in reader.look("/jobs").words
        assert "You act for no client of that name." in reader.submit("/", "/client", client="nobody").words
        assert "crm/sync" in reader.look("/jobs").words

    def test_without_any_client_the_page_says_what_to_do(self, shop: Shop) -> None:
        stranger = shop.v._client("arn:aws:iam::111111111111:user/stranger", None)
        answer = Visitor(stranger, shop.v).enter().get("/")
        assert answer.status == 403
        assert "You act for no client" in answer.words


@pytest.mark.parametrize("path", ["/jobs/JOB/explode", "/executions/RUN/explode", "/operations/new"])
def test_a_verb_that_is_none_is_not_there(shop: Shop, reader: Visitor, path: str) -> None:
    to = path.replace("JOB", shop.heartbeat.job_id).replace("RUN", shop.dead()[0])
    session = reader.cookie.partition("=")[2]
    answer = reader.post(to, {"_token": reader.sessions.form_token(session, to)})
    assert answer.status == 404
