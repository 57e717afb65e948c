"""The work that the checks of one request cause is bounded, counted in units and calls: time depends on the machine."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Any, Literal

import msgspec
import pytest

from clockwork.domain.cron import parser
from clockwork.domain.cron.field_reader import FieldReader
from clockwork.domain.recurrence import Work
from clockwork.edge.http.checks import REQUEST_WORK
from clockwork.targets.web import urls
from tests.handlers.handlers import Answer, Api
from tests.support.examples import ACME, ADMIN

HTTP = {"type": "http", "url": "https://example.com/"}
#: A character that NFKC makes eighteen of.
LONG = "\ufdfa"


@pytest.fixture(autouse=True)
def _not_remembered() -> Iterator[None]:
    parser.compiled.cache_clear()
    yield
    parser.compiled.cache_clear()


class Normalised:
    """In place of `unicodedata` in `urls`: it counts the characters that are given to be normalised."""

    def __init__(self) -> None:
        self.characters = 0
        self.ucd_3_2_0 = self

    def normalize(self, form: Literal["NFKC"], text: str) -> str:
        self.characters += len(text)
        return unicodedata.normalize(form, text)


@pytest.fixture
def normalised(monkeypatch: pytest.MonkeyPatch) -> Normalised:
    counting = Normalised()
    monkeypatch.setattr(urls, "unicodedata", counting)
    return counting


@pytest.fixture
def read_characters(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths of the fields of expressions that are read."""
    lengths: list[int] = []
    inner = FieldReader.read

    def read(reader: FieldReader, name: str, text: str, column: int) -> None:
        lengths.append(len(text))
        inner(reader, name, text, column)

    monkeypatch.setattr(FieldReader, "read", read)
    return lengths


def batch(api: Api, jobs: list[dict[str, Any]]) -> Answer:
    return api.call("POST", "/v1/jobs/batch", {"clientId": "acme", "jobs": jobs})


def once(host: str) -> dict[str, Any]:
    return {"schedule": {"delaySeconds": 60}, "target": {"type": "http", "url": f"https://{host}/"}}


def excluding(number: int) -> dict[str, Any]:
    """A job with forty long expressions, none of which any other job has."""
    minutes = ",".join(map(str, range(20, 60)))
    lists = [f"{minutes},{number % 20} {entry % 24} {1 + number // 20} {1 + entry // 24} *" for entry in range(40)]
    return {"jobKey": f"k{number}", "schedule": {"cron": "0 0 * * *", "exclude": lists}, "target": HTTP}


@pytest.mark.parametrize("host", [LONG * 2_035, LONG * 64, ".".join([LONG * 60] * 5), "é" * 254])
def test_a_host_beyond_the_bounds_of_the_dns_is_refused_before_it_is_normalised(
    host: str, normalised: Normalised
) -> None:
    api = Api()
    answer = api.call("POST", "/v1/jobs", {"clientId": "acme", **once(host)})
    assert (answer.status, answer.pointers) == (422, ["/target/url"])
    assert normalised.characters == 0


@pytest.mark.parametrize("host", [LONG * 63, ".".join([LONG * 60] * 4)])
def test_a_host_that_grows_beyond_them_is_normalised_once(host: str, normalised: Normalised) -> None:
    """Twice for each validation of a refused body: none looks at the eighteenfold."""
    api = Api()
    answer = api.call("POST", "/v1/jobs", {"clientId": "acme", **once(host)})
    assert (answer.status, answer.pointers) == (422, ["/target/url"])
    assert 0 < normalised.characters <= 4 * len(host)


def test_a_batch_of_hosts_that_are_not_ascii_costs_what_one_request_may(normalised: Normalised) -> None:
    api = Api()
    hosts = [".".join(["ü" * 50] * 4) + f"{number}.com" for number in range(500)]
    answer = batch(api, [once(host) for host in hosts])
    assert answer.status == 422
    (pointer,) = answer.pointers
    allowed = int(pointer.removeprefix("/jobs/"))
    assert answer.details == [
        f"asks for more work than one request may cause: send at most {allowed} jobs like these in one request"
    ]
    assert normalised.characters <= 20 * REQUEST_WORK // urls.COST_OF_CHARACTER
    assert [call for call in api.writes if call.startswith("timeline")] == []
    # The refusal says how to split it.
    assert batch(api, [once(host) for host in hosts[:allowed]]).status == 200


def test_a_batch_of_long_exclusions_is_refused_as_it_says(read_characters: list[int]) -> None:
    api = Api()
    jobs = [excluding(number) for number in range(300)]
    answer = batch(api, jobs)
    assert answer.status == 422
    (pointer,) = answer.pointers
    allowed = int(pointer.removeprefix("/jobs/"))
    assert 0 < allowed < 100
    assert sum(read_characters) <= REQUEST_WORK // parser.COST_OF_CHARACTER
    assert api.writes == []
    assert batch(api, jobs[:allowed]).status == 200


def test_each_expression_of_a_job_is_compiled_once(read_characters: list[int]) -> None:
    answer = batch(Api(), [excluding(1)])
    assert answer.status == 200, answer.text
    assert len(read_characters) == 5 * 41


def test_a_first_fire_that_is_hard_to_find_is_charged_for_each_look(monkeypatch: pytest.MonkeyPatch) -> None:
    spent: list[int] = []
    inner = Work.spend

    def spend(work: Work, units: int) -> None:
        spent.append(units)
        inner(work, units)

    monkeypatch.setattr(Work, "spend", spend)
    jobs = [
        {"jobKey": f"k{n}", "schedule": {"cron": f"{n % 60} * * * *", "exclude": ["* * 1-30 * *"]}, "target": HTTP}
        for n in range(500)
    ]
    api = Api()
    answer = batch(api, jobs)
    assert answer.status == 422
    allowed = int(answer.pointers[0].removeprefix("/jobs/"))
    spent.clear()
    assert batch(api, jobs[:allowed]).status == 200
    # The checks, and what the creates and the answers have done without counting it against the request.
    assert sum(spent) <= 2.5 * REQUEST_WORK


def test_a_usual_batch_of_five_hundred_schedules_is_far_from_the_bound() -> None:
    schedule = {"timezone": "Europe/Berlin", "exclude": ["2030-12-24", "* 0-6 * * *", "* * * * SAT,SUN"]}
    jobs = [
        {"jobKey": f"k{n}", "schedule": {"cron": f"{n % 60} 8-18 * * MON-FRI", **schedule}, "target": HTTP}
        for n in range(500)
    ]
    api = Api()
    api.clockwork.clients.put(msgspec.structs.replace(ACME, min_interval_seconds=60))
    answer = batch(api, jobs)
    assert answer.status == 200
    assert {one["status"] for one in answer.body["results"]} == {201}


def test_a_single_job_beyond_the_bound_is_told_what_to_shorten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clockwork.edge.http.checks.REQUEST_WORK", 5_000)
    api = Api()
    answer = api.call("POST", "/v1/jobs", {"clientId": "acme", **excluding(1)})
    assert (answer.status, answer.pointers) == (422, ["/schedule/exclude"])
    assert "leave exclusions out" in answer.details[0]
    in_batch = batch(api, [excluding(1), once("example.com")])
    assert (in_batch.status, in_batch.pointers) == (422, ["/jobs/0"])
    assert "shorten its expressions" in in_batch.details[0]


def test_the_private_targets_of_a_client_count_as_urls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clockwork.edge.http.checks.REQUEST_WORK", 5_000)
    body = {"allowedPrivateTargets": [f"{'ü' * 50}.{n}:80" for n in range(10)]}
    answer = Api().call("PUT", "/v1/clients/acme", body, caller=ADMIN)
    assert (answer.status, answer.pointers) == (422, ["/allowedPrivateTargets"])
