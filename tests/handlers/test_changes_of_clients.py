"""Changes of a client by several admins: none undoes what another did, and a revision of before is refused."""

from __future__ import annotations

from typing import Any

import pytest

from clockwork.domain.clients import Client
from clockwork.memory.clients import MemoryClients
from tests.handlers.handlers import Answer, Api
from tests.support.examples import ADMIN

PATH = "/v1/clients/acme"


def admin(api: Api, method: str, path: str, body: Any = None, **headers: str) -> Answer:
    return api.call(method, path, body, caller=ADMIN, headers={k.replace("_", "-"): v for k, v in headers.items()})


def between(api: Api, monkeypatch: pytest.MonkeyPatch, other: Any) -> None:
    """Let another admin's call come between the next read of the client and its write."""
    get = MemoryClients.get
    left = [other]

    def reading(self: MemoryClients, client_id: str, *, fresh: bool = False) -> Client | None:
        found = get(self, client_id, fresh=fresh)
        if fresh and left:
            left.pop()()
        return found

    monkeypatch.setattr(MemoryClients, "get", reading)


def test_a_put_that_was_read_before_a_pause_does_not_undo_it(monkeypatch: pytest.MonkeyPatch) -> None:
    api = Api()
    between(api, monkeypatch, lambda: admin(api, "POST", f"{PATH}/pause", {"reason": "incident 7"}))
    put = admin(api, "PUT", PATH, {"maxConcurrency": 3})
    assert (put.status, put.body["state"], put.body["reason"]) == (200, "PAUSED", "incident 7")
    kept = admin(api, "GET", PATH).body
    assert (kept["state"], kept["maxConcurrency"], kept["revision"]) == ("PAUSED", 3, 2)


def test_a_pause_that_was_read_before_a_put_does_not_undo_it(monkeypatch: pytest.MonkeyPatch) -> None:
    api = Api()
    between(api, monkeypatch, lambda: admin(api, "PUT", PATH, {"maxConcurrency": 3}))
    assert admin(api, "POST", f"{PATH}/pause").body["maxConcurrency"] == 3


@pytest.mark.parametrize(("method", "rest"), [("PUT", ""), ("POST", "/pause"), ("POST", "/resume")])
def test_a_revision_of_a_client_that_does_not_match_is_refused_with_both(method: str, rest: str) -> None:
    api = Api()
    admin(api, "POST", f"{PATH}/pause", {"reason": "first"})
    seen = admin(api, "PUT", PATH, {"maxConcurrency": 3}).body["revision"]
    assert seen == 2
    refused = admin(api, method, PATH + rest, {}, if_match="1")
    assert refused.status == 409
    assert all(f"revision {revision}" in refused.body["detail"] for revision in (1, 2))
    assert admin(api, method, PATH + rest, {}, if_match="2").body["revision"] == 3


def test_a_change_that_changes_nothing_writes_nothing_and_may_be_repeated_under_its_revision() -> None:
    api = Api()
    first = admin(api, "PUT", PATH, {"maxConcurrency": 3}, if_match="0")
    assert first.body["revision"] == 1
    api.calls.clear()
    again = admin(api, "PUT", PATH, {"maxConcurrency": 3}, if_match="0")
    assert (again.status, again.body) == (200, first.body)
    assert api.writes == []


def test_a_client_that_keeps_changing_is_not_certain(monkeypatch: pytest.MonkeyPatch) -> None:
    api = Api()
    monkeypatch.setattr(MemoryClients, "put", lambda *_, **__: False)
    assert admin(api, "PUT", PATH, {"maxConcurrency": 3}).status == 503
