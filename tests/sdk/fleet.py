"""A pool in memory for tests of workers: its queues, and an API that keeps the contract of claims, beats and outcomes.

Time is that of the clock given, so that a test may stand it still. Faults are scripted by the call.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from clockwork_client.transport import NoAnswer, Request, Response
from clockwork_client.worker.queues import Ticket

#: Longer than any test waits for anything that comes.
PATIENCE = 30.0


#: Waits that are shorter (s) only let others come in between; they are real.
_INSTANT = 0.1


class VirtualClock:
    """A worker's clock that stands still unless the test moves it."""

    def __init__(self) -> None:
        self._now = 1_000.0
        self._moved = threading.Condition()

    def now(self) -> float:
        """The instant."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        with self._moved:
            self._now += seconds
            self._moved.notify_all()

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Wait for the event in real time, and for the end of the wait in virtual time."""
        if seconds < _INSTANT:
            return event.wait(seconds)
        ends_at = self._now + seconds
        while self._now < ends_at and not event.is_set():
            with self._moved:
                self._moved.wait(0.005)
        return event.is_set()

    def sleep(self, seconds: float) -> None:
        """Wait for virtual time."""
        self.wait(threading.Event(), seconds)


@dataclass
class Work:
    """An execution, as the fake keeps it."""

    name: str
    handler: str
    payload: Any = None
    attempt: int = 1
    state: str = "WAITING"
    claim_id: str = ""
    lease_until: float = 0.0
    start_in_ms: int = 0
    is_cancelled: bool = False
    checkpoint: dict[str, Any] | None = None
    outcome: dict[str, Any] | None = None

    @property
    def token(self) -> str:
        """That of its claim."""
        return f"{self.name}.{self.attempt}.{self.claim_id}"


class MemoryQueue:
    """A queue: what is received is hidden until somebody gives it back."""

    def __init__(self) -> None:
        self.visible: list[Ticket] = []
        self.given_back: list[Ticket] = []
        self.faults: list[Exception] = []
        self.receives = 0
        self._changed = threading.Condition()

    def put(self, name: str) -> None:
        """Send a ticket."""
        with self._changed:
            self.visible.append(Ticket(name, f"receipt-{name}"))
            self._changed.notify_all()

    def receive(self, most: int, wait_seconds: int) -> Sequence[Ticket]:
        """As SQS does; a long poll is a short moment here."""
        with self._changed:
            self.receives += 1
            if self.faults:
                raise self.faults.pop(0)
            if wait_seconds:
                self._changed.wait_for(lambda: bool(self.visible), 0.05)
            taken, self.visible = self.visible[:most], self.visible[most:]
            return taken

    def give_back(self, tickets: Sequence[Ticket]) -> None:
        """Let others receive them."""
        with self._changed:
            self.given_back += tickets
            self.visible += tickets
            self._changed.notify_all()


#: The fate of a call. None: it is answered. `lost`: it is done, and its answer is lost. A number: this status. Or a
#: whole response.
Fate = str | int | Response | None


@dataclass
class Fleet:
    """The API of one pool, as a transport. `calls` has every request that arrived, by what it asked for."""

    clock: Any
    lease_seconds: float = 90.0
    queues: dict[str, MemoryQueue] = field(default_factory=lambda: {"normal": MemoryQueue()})
    works: dict[str, Work] = field(default_factory=dict)
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    #: The fates of the next calls, by what they ask for.
    fates: dict[str, list[Fate]] = field(default_factory=dict)
    #: Called in each call before it is answered: it may let time pass.
    slow: Callable[[str], None] = lambda _: None
    #: Claims that are answered so, by the execution, once each.
    unavailable: set[str] = field(default_factory=set)
    #: Executions whose outcomes are refused for a fault of the body.
    refused: set[str] = field(default_factory=set)
    answers: dict[str, Any] = field(default_factory=dict)
    handed_out: Counter[str] = field(default_factory=Counter)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def add(self, name: str, handler: str = "work", payload: Any = None, priority: str = "normal", **more: Any) -> Work:
        """An execution whose ticket is sent."""
        self.works[name] = work = Work(name, handler, payload, **more)
        self.queues[priority].put(name)
        return work

    def wait_for(self, condition: Callable[[], Any]) -> None:
        """Wait until something holds, which a call may bring about. Fails if it never does."""
        until = time.monotonic() + PATIENCE
        with self.changed:
            while not condition():
                if time.monotonic() >= until:
                    raise AssertionError("it never came to that")
                self.changed.wait(0.02)

    def asked(self, what: str) -> list[dict[str, Any]]:
        """The bodies of the calls that asked for this."""
        with self.changed:
            return [body for name, body in self.calls if name == what]

    def __call__(self, request: Request) -> Response:
        """Answer a request."""
        what = request.url.rpartition("/")[2]
        body = json.loads(request.body or b"{}")
        self.slow(what)
        with self.changed:
            self.calls.append((what, body))
            fates = self.fates.get(what, [])
            fate = fates.pop(0) if fates else None
            if isinstance(fate, int):
                response = Response(fate, {}, json.dumps({"status": fate, "detail": "scripted"}).encode())
            elif isinstance(fate, Response):
                response = fate
            elif what in self.answers:
                response = Response(200, {}, json.dumps(self.answers.pop(what)).encode())
            else:
                status, answer = getattr(self, f"_{what}")(body, request)
                response = Response(status, {}, json.dumps(answer).encode())
            self.changed.notify_all()
        if fate == "lost":
            raise NoAnswer("the answer was lost")
        return response

    def _claims(self, body: Mapping[str, Any], _: Request) -> tuple[int, Any]:
        return 200, {"claims": [self._claim(one) for one in body["claims"]]}

    def _claim(self, asked: Mapping[str, str]) -> dict[str, Any]:
        work = self.works.get(asked["ticket"])
        if work is not None and work.name in self.unavailable:
            self.unavailable.discard(work.name)
            return {"claimId": asked["claimId"], "outcome": "unavailable"}
        is_own = work is not None and work.state == "RUNNING" and work.claim_id == asked["claimId"]
        if work is None or not (work.state == "WAITING" or is_own):
            return {"claimId": asked["claimId"], "outcome": "gone"}
        if not is_own:
            self.handed_out[work.name] += 1
        work.state, work.claim_id = "RUNNING", asked["claimId"]
        work.lease_until = self.clock.now() + self.lease_seconds
        more = {} if work.payload is None else {"payload": work.payload}
        more |= {} if work.checkpoint is None else {"checkpoint": work.checkpoint}
        return {
            "claimId": asked["claimId"],
            "outcome": "start",
            "executionId": work.name,
            "jobId": f"job-{work.name}",
            "clientId": "acme",
            "attempt": work.attempt,
            "token": work.token,
            "handler": work.handler,
            "startInMs": work.start_in_ms,
            "leaseInMs": round(self.lease_seconds * 1000),
            "deadlineInMs": 86_400_000,
            **more,
        }

    def _heartbeats(self, body: Mapping[str, Any], _: Request) -> tuple[int, Any]:
        return 200, {"heartbeats": [self._beat(one["token"]) for one in body["heartbeats"]]}

    def _beat(self, token: str) -> dict[str, Any]:
        work = self._under(token)
        if work is None:
            return {"outcome": "stale"}
        # A claim that nobody has taken yet is revived; the tests ask how late it was.
        work.lease_until = self.clock.now() + self.lease_seconds
        lease_ms = round(self.lease_seconds * 1000)
        return {
            "executionId": work.name,
            "outcome": "ok",
            "leaseInMs": lease_ms,
            "cancelRequested": work.is_cancelled,
        }

    def _outcomes(self, body: Mapping[str, Any], _: Request) -> tuple[int, Any]:
        works = [self._under(one["token"]) for one in body["outcomes"]]
        if any(work is not None and work.name in self.refused for work in works):
            self.refused -= {one.name for one in works if one is not None and len(works) == 1}
            return 422, {"detail": "faults", "errors": [{"pointer": "/outcomes", "detail": "has a fault"}]}
        answers = []
        for said, work in zip(body["outcomes"], works, strict=True):
            if work is not None:
                work.outcome, work.state = said, "ENDED"
            answers.append({"outcome": "stale" if work is None else "ok"})
        return 200, {"outcomes": answers}

    def _checkpoints(self, body: Mapping[str, Any], _: Request) -> tuple[int, Any]:
        work = self._under(body["token"])
        if work is None:
            return 200, {"outcome": "stale"}
        before = work.checkpoint or {"attempt": 0, "sequence": 0}
        if (before["attempt"], before["sequence"]) > (work.attempt, body["sequence"]):
            return 200, {"outcome": "stale"}
        work.checkpoint = {"attempt": work.attempt, "sequence": body["sequence"], "value": body["value"]}
        return 200, {"outcome": "ok"}

    def _under(self, token: str) -> Work | None:
        """The execution that runs, or has ended, under this very token."""
        return next((one for one in self.works.values() if one.token == token and one.state != "WAITING"), None)
