"""Unsigned reports have a pace for each address and each job, apart from all that is signed."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clockwork.domain.lifecycle.tokens import decode_token
from clockwork.domain.requests.reading import Meter
from clockwork.memory.executions import MemoryExecutions
from tests.handlers.handlers import Answer, Api
from tests.handlers.test_completion import ALICE
from tests.handlers.test_unsigned_completions import token_of
from tests.support.events import http_event
from tests.support.examples import ACME

#: More than one address may owe in one of fifty environments: 10 s of 20 reports.
FLOOD = 202


@pytest.fixture
def api() -> Api:
    api = Api(takes_unsigned=True, stage="account")
    api.clockwork.clients.put(msgspec.structs.replace(ACME, principals=(ALICE,)))
    return api


def say(api: Api, token: str, address: object, headers: dict[str, str] | None = None) -> Answer:
    event = http_event("POST", f"/v1/completions/{token}", '{"outcome": "complete"}', caller=None, headers=headers)
    event["requestContext"]["http"]["sourceIp"] = address
    return api.send(event)


def flood(api: Api, address: object = "192.0.2.7") -> Answer:
    for _ in range(FLOOD):
        answer = say(api, "x", address)
    return answer


def test_an_address_that_floods_is_refused_before_its_tokens_are_looked_at(api: Api) -> None:
    token = token_of(api)
    answer = flood(api)
    assert (answer.status, answer.headers["Retry-After"]) == (429, "1")
    assert "from this address" in answer.body["detail"]
    assert api.calls == []
    # Whatever the caller says of itself, API Gateway's word counts.
    said = {"x-forwarded-for": "198.51.100.1", "forwarded": "for=198.51.100.1"}
    assert say(api, token, "192.0.2.7", said).status == 429
    assert say(api, token, "192.0.2.8").status == 200


def test_a_flood_takes_nothing_from_signed_calls(api: Api) -> None:
    token = token_of(api)
    assert flood(api).status == 429
    execution = f"/v1/executions/{decode_token(token).execution_id}"
    assert api.call("GET", execution, caller=ALICE).status == 200
    assert api.call("POST", f"{execution}/complete", {"token": token}, caller=ALICE).status == 200


def test_it_is_let_in_again_when_it_was_told(api: Api) -> None:
    token = token_of(api)
    answer = flood(api)
    api.clockwork.clock.at += 1000 * int(answer.headers["Retry-After"])
    assert say(api, token, "192.0.2.7").status == 200


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", True),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        ("::ffff:192.0.2.7", "192.0.2.7", True),
        ("no address", None, True),
        (None, 7, True),
    ],
)
def test_a_network_of_ipv6_is_one_address_and_so_is_whatever_is_none(
    api: Api, one: object, other: object, alike: bool
) -> None:
    assert flood(api, one).status == 429
    assert (say(api, "x", other).status == 429) == alike


def test_repeats_of_one_report_read_its_record_at_a_pace_of_their_own(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = token_of(api)
    assert say(api, token, "192.0.2.1").status == 200
    meter: Meter = api.clockwork.world.environment.meter
    find = MemoryExecutions.find

    def told(self: Any, *which: Any) -> Any:
        meter.read("executions", "job", 100)
        return find(self, *which)

    monkeypatch.setattr(MemoryExecutions, "find", told)
    answers = [say(api, token, f"192.0.2.{number}") for number in range(100)]
    assert {answer.status for answer in answers} == {200, 429}
    assert [answer.status for answer in answers].count(200) == 2  # 30 s of 5 units are less than two
    path = f"/v1/executions/{decode_token(token).execution_id}/complete"
    assert api.call("POST", path, {"token": token}, caller=ALICE).status == 200
