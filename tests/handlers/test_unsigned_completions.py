"""Reports that come unsigned: by the token of the attempt alone, and by nothing else, whoever sends them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clockwork.domain.lifecycle.tokens import decode_token
from clockwork.routes import ROUTES
from tests.handlers.handlers import Answer, Api
from tests.handlers.kit import KitApi
from tests.handlers.test_completion import ALICE, job
from tests.support.examples import ACME

NOBODYS = "arn:aws:iam::999999999999:user/nobodys"
UNKNOWN = "no attempt runs under this token"
ANYTHING = {"outcome": "complete"}


def an_api(*, opens: bool = True) -> Api:
    api = Api(takes_unsigned=opens)
    api.clockwork.clients.put(msgspec.structs.replace(ACME, principals=(ALICE,)))
    return api


@pytest.fixture
def api() -> Api:
    return an_api()


def token_of(api: Api, **fields: Any) -> str:
    """The token of an attempt that is at work."""
    assert api.call("POST", "/v1/jobs", job(**fields), caller=ALICE).status == 201
    api.clockwork.run_until(api.clockwork.clock.at + 3_000)
    return str(api.clockwork.targets.delivered[-1].token)


def say(api: Api, token: str, body: Any = ANYTHING) -> Answer:
    """Call the route as anybody may, without a signature. The kit's gateway has one always: it must not matter."""
    caller = NOBODYS if isinstance(api, KitApi) else None
    return api.call("POST", f"/v1/completions/{token}", body, caller=caller)


def state_of(api: Api, token: str) -> str:
    shown = api.call("GET", f"/v1/executions/{decode_token(token).execution_id}", caller=ALICE)
    return str(shown.body["state"])


def test_a_receiver_without_credentials_beats_and_completes(api: Api) -> None:
    token = token_of(api)
    beat = say(api, token, {"outcome": "heartbeat", "progress": 0.5})
    assert (beat.status, beat.body["state"], beat.body["cancelRequested"]) == (200, "RUNNING", False)
    assert 0 < beat.body["leaseInMs"] <= 60_000
    done = say(api, token, {"outcome": "complete", "result": {"pages": 12}})
    assert (done.status, done.body) == (
        200,
        {"executionId": decode_token(token).execution_id, "state": "SUCCEEDED"},
    )
    assert say(api, token).body == done.body  # a repeat gets the answer of the first
    assert state_of(api, token) == "SUCCEEDED"


def test_a_failure_that_came_unsigned_is_retried_or_dead_as_any(api: Api) -> None:
    token = token_of(api)
    assert say(api, token, {"outcome": "fail", "error": "no paper", "retryable": False}).status == 200
    api.clockwork.run_until(api.clockwork.clock.at + 3_000)
    assert state_of(api, token) == "DEAD"


def test_a_cancel_is_told_and_confirmed_unsigned(api: Api) -> None:
    token = token_of(api)
    api.call("POST", f"/v1/executions/{decode_token(token).execution_id}/cancel", caller=ALICE)
    assert say(api, token, {"outcome": "heartbeat"}).body["cancelRequested"] is True
    assert say(api, token, {"outcome": "cancelled"}).body["state"] == "CANCELLED"


def test_a_token_that_came_for_the_unsigned_route_is_good_on_the_signed_one(api: Api) -> None:
    token = token_of(api)
    path = f"/v1/executions/{decode_token(token).execution_id}/complete"
    assert api.call("POST", path, {"token": token}, caller=ALICE).status == 200


def test_stale_and_made_up_tokens_get_one_answer_byte_for_byte(api: Api) -> None:
    token = token_of(api)
    known = decode_token(token)
    other = decode_token(token_of(api))
    assert say(api, token).status == 200
    key = api.clockwork.ticket_keys.get()[0]
    wrong = [
        "x",
        "x" * 9_000,
        str(msgspec.structs.replace(known, check="")),
        str(msgspec.structs.replace(known, check="A" * 11)),
        str(msgspec.structs.replace(known, secret=other.secret)),
        str(msgspec.structs.replace(known, attempt=2)),
        str(msgspec.structs.replace(known, attempt=2).checked(key)),
        str(msgspec.structs.replace(other, secret="A" * 22).checked(key)),
        str(known.checked("another key")),
    ]
    answers = {say(api, one).text for one in wrong}
    assert len(answers) == 1
    assert UNKNOWN in answers.pop()
    # The attempt has ended: another kind of report under its own token is answered in the same way.
    late = say(api, token, {"outcome": "fail", "error": "e"})
    assert (late.status, late.body["detail"]) == (404, UNKNOWN)
    assert state_of(api, str(other)) == "RUNNING"


@pytest.mark.parametrize("body", [ANYTHING, {"outcome": "nonsense"}, "{", [], None], ids=str)
def test_nothing_but_the_keys_is_read_before_the_check(api: Api, body: Any) -> None:
    token_of(api)
    refused = say(api, f"{'x' * 40}.1.{'x' * 22}.{'x' * 11}", body)
    assert refused.status == 404
    assert set(api.calls) <= {"ticket_keys.get"}


def test_what_a_holder_of_a_token_says_wrong_is_told(api: Api) -> None:
    token = token_of(api)
    refused = say(api, token, {"outcome": "complete", "error": "e"})
    assert refused.status == 422
    assert "error" in refused.text
    assert say(api, token, {"outcome": "fail"}).status == 422
    assert say(api, token, {"outcome": "complete", "result": "x" * 33_000}).status == 422
    assert say(api, token, {"outcome": "handback"}).status == 422
    assert state_of(api, token) == "RUNNING"


def test_a_deployment_that_does_not_open_it_sends_no_checks_and_takes_nothing() -> None:
    api = an_api(opens=False)
    token = token_of(api)
    assert decode_token(token).check == ""
    key = "a key"
    api.clockwork.ticket_keys.make(key)
    assert say(api, str(decode_token(token).checked(key))).status == 404
    assert state_of(api, token) == "RUNNING"


def test_a_token_without_a_check_is_good_where_it_was_good_before(api: Api) -> None:
    token = msgspec.structs.replace(decode_token(token_of(api)), check="")
    path = f"/v1/executions/{token.execution_id}/complete"
    assert api.call("POST", path, {"token": str(token)}, caller=ALICE).status == 200


def test_a_further_key_is_accepted_and_the_first_one_is_used(api: Api) -> None:
    token = decode_token(token_of(api))
    keys = api.clockwork.ticket_keys.keys
    assert token.is_checked(keys[:1])
    keys.insert(0, "the next key")
    assert say(api, str(token)).status == 200


def test_the_token_of_a_worker_never_comes_unsigned() -> None:
    (route,) = [route for route in ROUTES if route.unsigned]
    assert (route.key, route.worker, route.admin) == ("POST /v1/completions/{token}", False, False)


@pytest.mark.parametrize("outcome", [ANYTHING, {"outcome": "heartbeat"}])
def test_the_attempt_of_a_deleted_client_is_unknown(api: Api, outcome: Any) -> None:
    token = token_of(api)
    stored = api.clockwork.clients.get("acme")
    assert stored is not None
    api.clockwork.clients.put(msgspec.structs.replace(stored, deleting_at=api.clockwork.clock.at))
    answer = say(api, token, outcome)
    assert (answer.status, answer.body["detail"]) == (404, UNKNOWN)
    assert set(api.writes) <= {"ticket_keys.get"}
