"""A client's signing secrets exist when the client is written: what could never sign is refused at once."""

from __future__ import annotations

from typing import Any

import pytest

from clockwork.domain.errors import Unavailable
from tests.handlers.handlers import Answer, Api
from tests.support.examples import ADMIN, ALICE

NAMES = ["clockwork/acme", "ssm:/clockwork/acme"]


def put(api: Api, *names: str, **client: Any) -> Answer:
    body = {"principals": [ALICE], "signingSecrets": list(names), **client}
    return api.call("PUT", "/v1/clients/acme", body, caller=ADMIN)


@pytest.mark.parametrize("missing", [0, 1])
def test_a_signing_secret_that_does_not_exist_is_refused_by_its_place(missing: int) -> None:
    api = Api()
    api.clockwork.signing_secrets.names.add(NAMES[1 - missing])
    answer = put(api, *NAMES)
    assert (answer.status, answer.pointers) == (422, [f"/signingSecrets/{missing}"])
    assert answer.details == ["names no secret that exists"]
    assert not api.writes
    api.clockwork.signing_secrets.names.add(NAMES[missing])
    assert put(api, *NAMES).body["signingSecrets"] == NAMES


def test_a_store_of_secrets_that_cannot_answer_is_a_503_and_nothing_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    api = Api()
    api.clockwork.signing_secrets.names.update(NAMES)

    def fail(_: str) -> bool:
        raise Unavailable("Secrets Manager gave no answer")

    with monkeypatch.context() as outage:
        outage.setattr(api.clockwork.signing_secrets, "exists", fail)
        assert put(api, *NAMES).status == 503
        assert not api.writes
        # A client without secrets needs no store of them.
        assert put(api).status == 200
    assert put(api, *NAMES).status == 200


def test_no_store_is_asked_for_a_client_with_other_faults() -> None:
    api = Api()
    assert put(api, *NAMES, jobsPerDay=0).pointers == ["/jobsPerDay"]
    assert "signing_secrets.exists" not in api.calls


def test_a_client_whose_secret_is_gone_can_be_paused_and_resumed() -> None:
    api = Api()
    api.clockwork.signing_secrets.names.update(NAMES)
    assert put(api, *NAMES).status == 200
    api.clockwork.signing_secrets.names.clear()
    for action in ("pause", "resume"):
        assert api.call("POST", f"/v1/clients/acme/{action}", caller=ADMIN).status == 200


def test_secrets_lie_below_the_name_of_the_deployment() -> None:
    api = Api(stack_name="Staging")
    api.clockwork.signing_secrets.names.update([*NAMES, "staging/acme"])
    answer = put(api, "clockwork/acme", "ssm:/clockwork/acme")
    assert (answer.status, answer.pointers) == (422, ["/signingSecrets/0", "/signingSecrets/1"])
    assert set(answer.details) == {"must begin with staging/ or ssm:/staging/"}
    assert put(api, "staging/acme").status == 200
