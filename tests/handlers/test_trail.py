"""GET /v1/audit: who asked for which change. No change is made that it does not show, whenever a process dies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from clockwork.domain.errors import Unavailable
from clockwork.domain.requests.trail import Entry
from clockwork.flows.hardening import hardened
from clockwork.flows.world import World
from tests.handlers.faults import refused
from tests.handlers.handlers import GLOBEX, READS, Answer, Api, make_handler
from tests.handlers.test_dead_api import api_with_dead, dead
from tests.support.examples import ACME, ADMIN, ALICE, BOB

EVERY = {"every": {"seconds": 3_600}}
#: A control call, made on an API that was made ready for it.
Case = Callable[[], tuple[Api, Callable[[], Answer]]]


class Died(BaseException):
    """Stands for the end of the api's process."""


class Fragile:
    """A port of which one write fails: the process dies, or `fault` is raised, before or after it took effect."""

    def __init__(self, name: str, port: Any, strikes: Strikes) -> None:
        self._name = name
        self._port = port
        self._strikes = strikes

    def __getattr__(self, method: str) -> Any:
        answer = getattr(self._port, method)
        call = f"{self._name}.{method}"
        if call in READS or call == "trail.list":
            return answer

        def ask(*args: Any, **kwargs: Any) -> Any:
            self._strikes.at(call, "before")
            answered = answer(*args, **kwargs)
            self._strikes.at(call, "after")
            return answered

        return ask


class Strikes:
    """Counts the moments of writes, and strikes at one of them. `calls` are the writes that were asked for."""

    def __init__(self, moment: int, fault: BaseException) -> None:
        self.calls: list[str] = []
        self._left = moment
        self._fault = fault

    def at(self, call: str, when: str) -> None:
        if when == "before":
            self.calls.append(call)
        self._left -= 1
        if self._left < 0:
            self._left = 1_000_000
            raise self._fault


def fragile(world: World, strikes: Strikes) -> World:
    names = [one for one in World.__struct_fields__ if one not in ("settings", "clock", "random", "environment")]
    ports: dict[str, Any] = {name: Fragile(name, getattr(world, name), strikes) for name in names}
    return hardened(world.with_(**ports))


def audit(api: Api, caller: str = ALICE, **query: str) -> list[dict[str, Any]]:
    of_pool = api.clockwork.settings.pools and caller == ALICE
    whose = {"clientId": "pool/batch-etl"} if of_pool else {"clientId": "acme"}
    answer = api.call("GET", "/v1/audit", caller=ADMIN if of_pool else caller, query={**whose, **query})
    assert answer.status == 200, answer.text
    items: list[dict[str, Any]] = answer.body["items"]
    return items


def stored(api: Api) -> str:
    """Everything that is stored, apart from the trail itself."""
    kept = api.clockwork
    stores = (kept.jobs, kept.executions, kept.clients, kept.pools, kept.timeline, kept.regulation)
    return repr([vars(one) for one in stores] + [kept.queue.messages, kept.ordered_queue.messages])


def of_job(method: str, rest: str = "", body: Any = None) -> Case:
    def ready() -> tuple[Api, Callable[[], Answer]]:
        api = Api()
        job_id = api.create(jobKey="k", schedule=EVERY).body["jobId"]
        api.clockwork.run_until(api.clockwork.clock.at + 4_000_000)
        if rest == "/resume":
            api.call("POST", f"/v1/jobs/{job_id}/pause")
        return api, lambda: api.call(method, f"/v1/jobs/{job_id}{rest}", body)

    return ready


def of_client(rest: str, body: Any = None, method: str = "POST") -> Case:
    def ready() -> tuple[Api, Callable[[], Answer]]:
        api = Api()
        if rest == "/resume":
            api.clockwork.clients.put(msgspec.structs.replace(ACME, paused=True, paused_at=1))
        return api, lambda: api.call(method, f"/v1/clients/acme{rest}", body, caller=ADMIN)

    return ready


def of_dead(rest: str, body: Any = None) -> Case:
    def ready() -> tuple[Api, Callable[[], Answer]]:
        api = api_with_dead("a", None)
        return api, lambda: api.call("POST", f"/v1/clients/acme/dead/{rest}", body)

    return ready


def redrive_one() -> tuple[Api, Callable[[], Answer]]:
    api = api_with_dead("a")
    (one,) = dead(api)
    return api, lambda: api.call("POST", f"/v1/executions/{one['executionId']}/redrive", {"asItWas": True})


def cancel_execution() -> tuple[Api, Callable[[], Answer]]:
    api = Api()
    job_id = api.create(record="full").body["jobId"]
    execution_id = f"{job_id}.{api.clockwork.clock.at + 30_000:013d}.0"
    return api, lambda: api.call("POST", f"/v1/executions/{execution_id}/cancel")


def delete_schedule() -> tuple[Api, Callable[[], Answer]]:
    api = Api()
    sent: dict[str, Any] = {"clientId": "acme", "scheduleKey": "k", "orderingKey": "o", "taskData": "x"}
    sent |= {"delivery": {"url": "https://example.com/"}, "scheduleTime": api.clockwork.clock.at + 900_000}
    assert api.call("POST", "/schedule", sent).status == 200
    return api, lambda: api.call("DELETE", "/schedule", {"clientId": "acme", "scheduleKey": "k"})


def put_pool() -> tuple[Api, Callable[[], Answer]]:
    api = Api(pools=("batch-etl=normal",))
    return api, lambda: api.call("PUT", "/v1/pools/batch-etl", {"leaseSeconds": 60}, caller=ADMIN)


DEFINITION = {"schedule": EVERY, "target": {"type": "http", "url": "https://example.com/other"}, "tags": {"a": "b"}}
PAST = {"from": "2023-11-14T22:00:00Z", "to": "2023-11-14T23:00:00Z", "maxPerSecond": 5}
CASES: dict[str, tuple[Case, dict[str, Any]]] = {
    "putJob": (of_job("PUT", "", DEFINITION), {"jobKey": "k", "changes": ["/payload", "/tags", "/target/url"]}),
    "patchJob": (of_job("PATCH", "", {"payload": 2}), {"jobKey": "k", "changes": ["/payload"]}),
    "pauseJob": (
        of_job("POST", "/pause", {"reason": "incident 7", "waiting": "cancel"}),
        {"jobKey": "k", "reason": "incident 7", "asked": {"waiting": "cancel"}},
    ),
    "resumeJob": (of_job("POST", "/resume", {"reason": "done"}), {"jobKey": "k", "reason": "done"}),
    "runJob": (of_job("POST", "/run"), {"jobKey": "k"}),
    "backfillJob": (of_job("POST", "/backfill", PAST), {"jobKey": "k", "asked": {**PAST, "maxPerSecond": "5.0"}}),
    "cancelJob": (of_job("DELETE"), {"jobKey": "k"}),
    "cancelExecution": (cancel_execution, {}),
    "redriveExecution": (redrive_one, {"jobKey": "a", "asked": {"asItWas": "true"}}),
    "redriveDead": (of_dead("redrive", {"prefix": "a"}), {"asked": {"prefix": "a"}}),
    "discardDead": (of_dead("discard", {"limit": 7}), {"asked": {"limit": "7"}}),
    "deleteSchedule": (delete_schedule, {"jobKey": "k"}),
    "putClient": (of_client("", {"principals": [ALICE], "maxConcurrency": 3}, "PUT"), {"changes": ["/maxConcurrency"]}),
    "pauseClient": (of_client("/pause", {"reason": "why"}), {"reason": "why"}),
    "resumeClient": (of_client("/resume", {"reason": "why"}), {"reason": "why"}),
    "releaseParked": (of_client("/parked/release", {"maxPerSecond": 2.5}), {"asked": {"maxPerSecond": "2.5"}}),
    "putPool": (put_pool, {"changes": ["/leaseSeconds"]}),
    "discardParked": (of_client("/parked/discard", {}), {}),
}
BY_ADMIN = {"putClient", "putPool", "pauseClient", "resumeClient", "releaseParked", "discardParked"}


@pytest.mark.parametrize("name", CASES)
def test_a_control_call_is_one_entry_that_says_who_what_when_and_why(name: str) -> None:
    ready, told = CASES[name]
    api, call = ready()
    before = audit(api)
    api.clockwork.clock.at += 1  # Entries of one millisecond have no order.
    assert call().status < 300
    assert api.calls.count("trail.note") == 1
    entry = audit(api)[0]
    assert len(audit(api)) == len(before) + 1
    assert (entry["action"], entry["principal"]) == (name, ADMIN if name in BY_ADMIN else ALICE)
    shown = {field: entry[field] for field in ("jobKey", "reason", "asked", "changes") if field in entry}
    if name in ("pauseClient", "resumeClient"):
        assert "/paused" in shown.pop("changes")
    assert shown == told
    assert ("jobId" in entry) == ("Job" in name or "Execution" in name)
    assert ("executionId" in entry) == ("Execution" in name)


def moments(name: str, fault: BaseException) -> Iterator[tuple[Api, Strikes, str, list[dict[str, Any]]]]:
    """The API after a control call during which `fault` was raised, for each moment of a write."""
    ready, _ = CASES[name]
    for moment in range(1_000):
        api, call = ready()
        before, entries = stored(api), audit(api)
        strikes = Strikes(moment, fault)
        handle, api.handle = api.handle, make_handler("api", fragile(api.clockwork.world, strikes))
        try:
            call()
        except Died:
            pass
        finally:
            api.handle = handle
        yield api, strikes, before, entries
        if len(strikes.calls) * 2 <= moment:
            return
    raise AssertionError("the call never comes to its end")


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_wherever_the_process_dies_no_change_is_without_its_entry(name: str) -> None:
    changed = 0
    for api, _, before, entries in moments(name, Died()):
        noted = len(audit(api)) - len(entries)
        assert noted in (0, 1)
        if stored(api) != before:
            changed += 1
            assert noted == 1
    assert changed > 0


@pytest.mark.parametrize("name", CASES)
def test_the_entry_is_the_first_write_and_without_it_nothing_is_changed(name: str) -> None:
    first = next(moments(name, Unavailable("the table is throttled")))
    api, strikes, before, entries = first
    assert strikes.calls == ["trail.note"]
    assert (stored(api), audit(api)) == (before, entries)


def test_a_call_whose_entry_cannot_be_written_is_told_to_be_repeated() -> None:
    api, call = CASES["pauseJob"][0]()
    api.handle = make_handler("api", fragile(api.clockwork.world, Strikes(0, Unavailable("throttled"))))
    assert call().status == 503
    assert call().status == 200
    assert [one["action"] for one in audit(api)] == ["pauseJob"]


def test_what_is_refused_after_it_was_noted_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    api, call = CASES["pauseJob"][0]()
    monkeypatch.setattr(type(api.clockwork.jobs), "save", lambda *_: False)
    refused(call(), 409)
    (entry,) = audit(api)
    assert entry["refused"].startswith("the job was changed meanwhile")
    assert entry["reason"] == "incident 7"


def test_a_refusal_that_cannot_be_noted_is_still_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    api, call = CASES["pauseJob"][0]()
    monkeypatch.setattr(type(api.clockwork.jobs), "save", lambda *_: False)
    api.handle = make_handler("api", fragile(api.clockwork.world, Strikes(4, Unavailable("throttled"))))
    refused(call(), 409)
    assert "refused" not in audit(api)[0]


def test_what_is_not_certain_is_not_called_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    api, call = CASES["pauseJob"][0]()

    def lost(*_: Any) -> bool:
        raise Unavailable("no answer")

    monkeypatch.setattr(type(api.clockwork.jobs), "save", lost)
    assert call().status == 503
    assert "refused" not in audit(api)[0]


def test_creates_anonymous_jobs_and_calls_that_change_nothing_make_no_entry() -> None:
    api = Api()
    job_id = api.create(jobKey="k", schedule=EVERY).body["jobId"]
    anonymous = api.create().body["jobId"]
    assert api.call("DELETE", f"/v1/jobs/{anonymous}").body["result"] == "cancelled"
    api.call("POST", "/v1/jobs/batch", {"jobs": [{"schedule": EVERY}]})
    refused(api.call("DELETE", f"/v1/jobs/{job_id}", headers={"If-Match": "7"}), 409)
    refused(api.call("POST", f"/v1/jobs/{job_id}/pause", caller=BOB), 404)
    refused(api.call("POST", "/v1/clients/acme/pause"), 403)
    assert api.call("POST", f"/v1/jobs/{job_id}/resume").status == 200
    assert api.call("PATCH", f"/v1/jobs/{job_id}", {"payload": {"n": 1}}).body["changed"] is False
    assert api.call("POST", "/v1/clients/acme/dead/discard").status == 200
    assert audit(api) == []


def test_a_trail_is_shown_newest_first_to_its_own_callers_and_to_admins() -> None:
    api = Api()
    job_id = api.create(jobKey="k", schedule=EVERY).body["jobId"]
    for number in range(5):
        api.clockwork.clock.at += 1_000
        api.call("POST", f"/v1/jobs/{job_id}/{'resume' if number % 2 else 'pause'}", {"reason": str(number)})
    assert [one["reason"] for one in audit(api)] == list("43210")
    assert audit(api, ADMIN) == audit(api)
    refused(api.call("GET", "/v1/audit", query={"clientId": "acme"}, caller=BOB), 403)
    assert api.call("GET", "/v1/audit", caller=BOB).body == {"items": []}
    first = api.call("GET", "/v1/audit", query={"limit": "2"}).body
    rest = api.call("GET", "/v1/audit", query={"nextToken": first["nextToken"]}).body
    assert [one["reason"] for one in first["items"] + rest["items"]] == list("43210")
    assert "nextToken" not in rest
    refused(api.call("GET", "/v1/audit", query={"nextToken": "x"}), 422)
    assert GLOBEX.client_id not in str(first)


def test_an_entry_is_kept_as_its_clients_records_are() -> None:
    api = Api()
    api.clockwork.clients.put(msgspec.structs.replace(ACME, retention_days=400))
    api.call("POST", "/v1/clients/acme/pause", {}, caller=ADMIN)
    (entry,) = api.clockwork.trail.list("acme", 10, None).entries
    assert isinstance(entry, Entry)
    assert entry.expires_at - entry.at == 400 * 86_400_000


def test_an_entry_stays_small_however_much_is_changed() -> None:
    api = Api()
    job_id = api.create(jobKey="k" * 255, schedule=EVERY).body["jobId"]
    tags = {"x" * 50 + str(number): "y" * 50 for number in range(10)}
    put = api.call("PATCH", f"/v1/jobs/{job_id}", {"tags": tags, "payload": "z" * 200_000})
    assert put.status == 200, put.text
    (entry,) = api.clockwork.trail.list("acme", 10, None).entries
    assert len(msgspec.msgpack.encode(entry)) < 8_000


@pytest.mark.parametrize("job_id", ["trail%2Facme", "trail/acme"])
def test_a_trail_is_no_list_of_executions(job_id: str) -> None:
    api = Api()
    api.call("POST", "/v1/clients/acme/pause", {}, caller=ADMIN)
    event_path = f"/v1/jobs/{job_id}/executions"
    assert api.call("GET", event_path).status in (404, 403)
