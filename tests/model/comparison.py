"""Runs one sequence of operations on several Clockworks and the page; answers, deliveries and states must agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from clockwork.domain.instants import from_text
from clockwork.domain.releases import Delivery
from tests.model.ledger import by_instant
from tests.model.operations import Operation
from tests.model.page import EITHER, Page
from tests.model.subject import Answer, Subject
from tests.support.examples import ALICE, BOB

#: The fields of an answer's body that the page models.
WRITTEN = frozenset({"jobId", "jobKey", "state", "revision", "dueAt", "nextFireAt"})
RECORD = frozenset({"dueAt", "state", "attempts"})
KNOWN: dict[str, frozenset[str]] = {
    "create": WRITTEN,
    "create_batch": WRITTEN | {"results", "status"},
    "get": WRITTEN | {"payload"},
    "cancel": frozenset({"result"}),
    "executions": RECORD | {"items"},
    "redrive": RECORD,
    "run": frozenset(),
    "list": WRITTEN | {"items"},
}
#: States of a named job's executions that the page leaves out: skipped stretches, and dropped fires.
UNTOLD = frozenset({"SKIPPED", "CANCELLED"})


class Disagreement(AssertionError):
    """Two of the compared sides answered, delivered or hold something different."""


class Client:
    """A client of one Clockwork, which numbers its jobs in the order in which they were created."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.ids: list[str] = []

    def carry_out(self, op: Operation) -> Answer:
        """Sends an operation as a request, and returns the answer."""
        answer = self._ask(op)
        if op.kind in ("create", "create_batch", "name") and answer.status < 300:
            for made in answer.body.get("results", [answer.body]):
                if "jobId" in made and made["jobId"] not in self.ids:
                    self.ids.append(made["jobId"])
        return answer

    def _ask(self, op: Operation) -> Answer:
        call = self.subject.call
        job_id = self.ids[op.job % len(self.ids)] if self.ids else "none"
        path = f"/v1/jobs/{job_id}"
        if op.kind == "create":
            return call("POST", "/v1/jobs", op.body, key=op.key)
        if op.kind == "name":
            return call("POST", "/v1/jobs", {**op.body, "jobKey": op.key})
        if op.kind == "create_batch":
            return call("POST", "/v1/jobs/batch", {"jobs": op.body}, key=op.key)
        if op.kind == "list":
            return self._all_pages(dict(op.query))
        if op.kind == "redrive":
            found = [] if job_id.startswith("n") else call("GET", f"{path}/executions").body["items"]
            execution_id = found[0]["executionId"] if found else "none"
            return call("POST", f"/v1/executions/{execution_id}/redrive")
        if op.kind in ("pause", "resume", "run"):
            return call("POST", f"{path}/{op.kind}", key=op.key if op.kind == "run" else None)
        method = {"cancel": "DELETE", "put": "PUT", "patch": "PATCH"}.get(op.kind, "GET")
        suffix = "/executions" if op.kind == "executions" else ""
        return call(method, path + suffix, op.body, caller=BOB if op.kind == "trespass" else ALICE)

    def _all_pages(self, query: dict[str, str]) -> Answer:
        items: list[Any] = []
        while True:
            answer = self.subject.call("GET", "/v1/jobs", query=query)
            items += answer.body["items"]
            if "nextToken" not in answer.body:
                return Answer(answer.status, {"items": items})
            query = {**query, "nextToken": answer.body["nextToken"]}

    def reduced(self, op: Operation, answer: Answer) -> Any:
        """The answer, cut down to the fields that the page models."""
        if answer.status >= 400:
            return None
        body = self._reduced(answer.body, KNOWN.get(op.kind, WRITTEN))
        if op.kind == "executions":
            is_named = self.ids[op.job % len(self.ids)].startswith("n")
            kept = [one for one in body["items"] if not (is_named and one["state"] in UNTOLD)]
            body["items"] = sorted(kept, key=by_instant)
        return body

    def _reduced(self, body: Any, known: frozenset[str]) -> Any:
        if isinstance(body, list):
            return [self._reduced(one, known) for one in body]
        told = {name: self._value(name, value, known) for name, value in body.items() if name in known}
        if "dueAt" in told:
            told.pop("nextFireAt", None)
        return told

    def _value(self, name: str, value: Any, known: frozenset[str]) -> Any:
        if name in ("dueAt", "nextFireAt"):
            return from_text(value)
        if name == "jobId":
            return self.ids.index(value)
        if name in ("results", "items"):
            return self._reduced(value, known)
        if name == "attempts":
            return [{"state": attempt["state"]} for attempt in value]
        return "waiting" if value in ("SCHEDULED", "RELEASED") else value

    def reached(self, delivery: Delivery) -> tuple[int, int, int]:
        """A delivery in the page's terms: job number, due instant, attempt."""
        return self.ids.index(delivery.job_id), delivery.occurrence.due_at, delivery.attempt


class Comparison:
    """Compares several Clockworks and the page, step by step."""

    def __init__(self, subjects: Sequence[Subject], make_page: Callable[[int], Page] = Page) -> None:
        self._page = make_page(subjects[0].clock.at)
        self._clients = [Client(subject) for subject in subjects]
        #: How often an operation was answered with a status.
        self.heard: Counter[tuple[str, int]] = Counter()

    def run(self, operations: Sequence[Operation]) -> None:
        """Carries out operations everywhere, then reads every job and execution. Raises Disagreement."""
        for op in operations:
            self._step(op)
        for number in range(len(self._page.jobs)):
            self._step(Operation("get", job=number))
            self._step(Operation("executions", job=number))
        self._step(Operation("list"))

    def _step(self, op: Operation) -> None:
        if op.kind == "wait":
            self._page.wait(op.wait_ms)
            for client in self._clients:
                client.subject.wait(op.wait_ms)
        else:
            self._ask(op)
        deliveries = [sorted(map(client.reached, client.subject.delivered())) for client in self._clients]
        for other in deliveries[1:]:
            _require(other, deliveries[0], op, "the adapters' deliveries")
        _compare_deliveries(self._page, deliveries[0], op)

    def _ask(self, op: Operation) -> None:
        answers = [client.carry_out(op) for client in self._clients]
        for other in answers[1:]:
            _require(other, answers[0], op, "the adapters' answers")
        told = self._clients[0].reduced(op, answers[0])
        status, expected = getattr(self._page, op.kind)(op)
        _require((answers[0].status, told), (status, _decided(expected, told)), op, "the page's answer")
        self._page.note(op, told or {})
        self._page.wait(0)
        self.heard[op.kind, answers[0].status] += 1


def _compare_deliveries(page: Page, delivered: list[tuple[int, int, int]], op: Operation) -> None:
    """Checks deliveries: an unrecorded job may come again if its create was repeated; all others match the page."""
    expected, page.delivered = sorted(page.delivered), []
    again = (Counter(delivered) - Counter(expected)).elements()
    repeated = [one for one in again if page.may_come_again(one[0])]
    _require(sorted((Counter(delivered) - Counter(repeated)).elements()), expected, op, "what was delivered")


def _decided(expected: Any, told: Any) -> Any:
    """The expected answer; where the page allows several results, the one that Clockwork gave."""
    if expected == {"result": EITHER} and told is not None and told["result"] in EITHER:
        return told
    return expected


def _require(found: Any, expected: Any, op: Operation, what: str) -> None:
    if found != expected:
        raise Disagreement(f"{op}\n  {what}: found    {found}\n  {' ' * len(what)}  expected {expected}")
