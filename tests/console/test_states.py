"""A console whose API fails: each region says so, and keeps what it knew."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from clockwork_client.console.problems import problem_of
from clockwork_client.errors import ClockworkError, NotConfigured, NotReached
from clockwork_client.transport import NoAnswer, Request, Response
from tests.console.scenes import Shop
from tests.console.visitor import Visitor

Fate = Callable[[Request], Response]


def offline(_: Request) -> Response:
    raise NoAnswer("connection refused", was_sent=False)


def answering(status: int, **problem: str) -> Fate:
    return lambda _: Response(status, {}, json.dumps(problem).encode())


class Line:
    """The network to the API. Calls whose path has `where` in it meet the fate, and are counted."""

    def __init__(self, shop: Shop) -> None:
        self.send = shop.cw._caller._transport
        self.fate: Fate = self.send
        self.where = ""
        self.struck = 0
        shop.cw._caller._transport = self
        shop.cw._caller._deadline = 0.5

    def __call__(self, request: Request) -> Response:
        if self.where not in request.url:
            return self.send(request)
        self.struck += 1
        return self.fate(request)


@pytest.fixture
def line(shop: Shop) -> Line:
    return Line(shop)


def test_one_region_that_fails_says_so_and_the_others_stay(shop: Shop, reader: Visitor, line: Line) -> None:
    line.fate, line.where = answering(403, detail="not for your role"), "/upcoming"
    page = reader.look("/").words
    assert "Your role may not do this. not for your role clockwork whoami" in page
    assert "crm/sync 9 dead runs" in page


def test_a_region_that_fails_keeps_its_last_content_with_its_age(shop: Shop, reader: Visitor, line: Line) -> None:
    assert "crm/sync" in reader.look("/jobs").words
    line.fate, line.where = answering(429, detail="too many reads"), "/v1/jobs"
    page = reader.look("/jobs").words
    assert "Too many calls at once. too many reads." in page
    assert "Below is what it was" in page
    assert "crm/sync" in page


def test_a_page_that_was_never_read_says_that_its_job_cannot_be(shop: Shop, reader: Visitor, line: Line) -> None:
    line.fate, line.where = answering(403, detail="not for your role"), "/v1/jobs/"
    answer = reader.get(f"/jobs/{shop.sync.job_id}")
    assert answer.status == 403
    assert "Your role may not do this" in answer.words
    assert "Try again" in answer.words


def test_out_of_reach_there_is_one_banner_and_few_calls(shop: Shop, reader: Visitor, line: Line) -> None:
    reader.look("/")
    line.fate = offline
    page = reader.look("/").words
    assert page.count("The API cannot be reached") == 1
    assert "clockwork doctor" in page
    assert "crm/sync 9 dead runs" in page  # what it knew
    assert line.struck <= 40  # two calls with their repeats, and not one of each region


def test_expired_credentials_are_told_with_the_command_that_renews_them(shop: Shop, line: Line) -> None:
    reader = Visitor(shop.cw, shop.v, profile="billing").enter()
    line.fate = answering(403, message="The security token included in the request is expired")
    answer = reader.get("/jobs")
    assert "Your AWS credentials are missing or have expired" in answer.words
    assert "aws sso login --profile billing" in answer.words


def test_after_an_outage_the_next_look_after_seconds_asks_again(shop: Shop, line: Line) -> None:
    reader = Visitor(shop.cw, shop.v).enter()
    line.fate = offline
    assert "The API cannot be reached" in reader.get("/jobs").words
    line.fate = line.send
    reader.context.source.forget()
    page = reader.get("/jobs").words
    assert ("The API cannot be reached" in page, "crm/sync" in page) == (False, True)


@pytest.mark.parametrize(
    ("error", "kind", "command"),
    [
        (NotReached("no route", 1), "offline", "clockwork doctor"),
        (NotConfigured("no AWS credentials: set AWS_PROFILE"), "credentials", "aws sso login"),
        (NotConfigured("no AWS region: set AWS_REGION"), "credentials", "clockwork doctor"),
        (NotConfigured("the AWS credentials cannot be refreshed: x"), "credentials", "aws sso login"),
        (ClockworkError("strange"), "unsure", "clockwork doctor"),
    ],
)
def test_each_error_has_its_words(error: ClockworkError, kind: str, command: str) -> None:
    found = problem_of(error)
    assert (found.kind, found.command) == (kind, command)
