"""The Lambdas' handlers on a Clockwork in memory, which records every call of every port."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from clockwork.bootstrap import App, Handler, noting
from clockwork.domain.clients import Client
from clockwork.flows.hardening import hardened
from clockwork.flows.world import World
from clockwork.memory.world import MemoryClockwork
from clockwork.settings import Settings
from tests.handlers.description import check_answer
from tests.support.events import NO_ROUTE, LambdaContext, encoded, http_event
from tests.support.examples import ACME, ADMIN, ALICE, BOB

GLOBEX = Client(client_id="globex", principals=(BOB,))
#: The calls that only read. Every other call of a port counts as a write.
READS = frozenset(
    f"{port}.{method}"
    for port, methods in {
        "timeline": ("find", "read"),
        "shards": ("list", "get", "all"),
        "executions": ("find", "list", "dead", "retrying", "indexed"),
        "clients": ("get", "list", "of_principal", "admins"),
        "pools": ("get",),
        "pool_queues": ("waiting",),
        "ticket_keys": ("get",),
        "checkpoints": ("get",),
        "turnstiles": ("get",),
        "runs": ("get",),
        "workers": ("list",),
        "regulation": ("circuits", "created"),
        "jobs": ("get", "list"),
        "signing_secrets": ("exists",),
    }.items()
    for method in methods
)
#: The longest sort key of DynamoDB, in bytes. DynamoDB refuses an empty one as well.
LONGEST_KEY = 1_024
_NOT_PORTS = ("settings", "clock", "random", "environment")


class Recorded:
    """A port that records its calls, and fails on a key that DynamoDB would refuse.

    The read of the admins and the notes of counts are left out: an environment makes them once a minute, whoever asks.
    """

    def __init__(self, name: str, port: Any, calls: list[str]) -> None:
        self._name = name
        self._port = port
        self._calls = calls

    def __getattr__(self, method: str) -> Callable[..., Any]:
        answer = getattr(self._port, method)

        def ask(*args: Any, **kwargs: Any) -> Any:
            if method != "admins" and self._name != "activity":
                self._calls.append(f"{self._name}.{method}")
            assert all(0 < len(text.encode()) <= LONGEST_KEY for text in _texts(args))
            return answer(*args, **kwargs)

        return ask


def _texts(value: Any) -> Iterator[str]:
    """The texts among the arguments of a call, including texts in lists of keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)


@dataclass(frozen=True)
class Answer:
    """An answer of the API."""

    status: int
    content_type: str
    text: str
    headers: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def body(self) -> Any:
        """The JSON value in the body."""
        return json.loads(self.text)

    @property
    def pointers(self) -> list[str]:
        """The JSON pointers of the faults that the problem document lists."""
        return [fault["pointer"] for fault in self.body.get("errors", [])]

    @property
    def details(self) -> list[str]:
        """The details of the faults that the problem document lists, or else its own detail."""
        return [fault["detail"] for fault in self.body.get("errors", [])] or [self.body["detail"]]


class Api:
    """The api Lambda with the clients acme (ALICE) and globex (BOB)."""

    def __init__(self, **settings: Any) -> None:
        self.clockwork = MemoryClockwork(Settings.for_local().with_(**settings), admins=[ADMIN])
        for client in (ACME, GLOBEX):
            self.clockwork.clients.put(client)
        self.calls: list[str] = []
        self.handle = make_handler("api", recorded(self.clockwork.world, self.calls))

    @property
    def writes(self) -> list[str]:
        """The recorded calls that are not reads."""
        return [call for call in self.calls if call not in READS]

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        caller: str | None = ALICE,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send a request. Text and bytes are sent as they are, any other body as JSON."""
        sent = body if body is None or isinstance(body, str | bytes) else encoded(body)
        return self.send(http_event(method, path, sent, caller=caller, headers=headers, query=query))

    def send(self, event: dict[str, Any]) -> Answer:
        """Send a request as API Gateway's event. The answer must be one that the API's description promises."""
        self.calls.clear()
        raw = self.handle(event, CONTEXT)
        answer = Answer(raw["statusCode"], raw["headers"]["Content-Type"], raw["body"], raw["headers"])
        if event["routeKey"] != NO_ROUTE:
            check_answer(event["routeKey"], answer.status, answer.content_type, answer.text)
        return answer

    def create(self, **changes: Any) -> Answer:
        """Send POST /v1/jobs of a valid job with some fields changed."""
        return self.call("POST", "/v1/jobs", job_body(**changes))


CONTEXT = LambdaContext()


def job_body(**changes: Any) -> dict[str, Any]:
    """A valid job with some fields changed."""
    return {
        "schedule": {"delaySeconds": 30},
        "target": {"type": "http", "url": "https://example.com/hook"},
        "payload": {"n": 1},
        **changes,
    }


def make_handler(moment: str, world: World) -> Handler:
    """The handler of a Lambda on this world."""
    app = App(world)
    return noting(app, importlib.import_module(f"clockwork.handlers.{moment}").make_handler(app))


def bare(port: Any) -> Any:
    """The port below a hardened one."""
    return getattr(port, "_inner", port)


def recorded(world: World, calls: list[str]) -> World:
    """The world with all its ports recorded."""
    ports = [port for port in World.__struct_fields__ if port not in _NOT_PORTS]
    recording: dict[str, Any] = {name: Recorded(name, getattr(world, name), calls) for name in ports}
    # Hardened twice, each save would count twice.
    recording["executions"] = Recorded("executions", bare(world.executions), calls)
    return hardened(world.with_(**recording))
