"""The client on the shipped edge in memory, through its transport."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from urllib.parse import parse_qsl, unquote, urlsplit

from botocore.credentials import Credentials

from clockwork_client import Clockwork, Machine
from clockwork_client.transport import Request, Response, Transport
from tests.handlers.handlers import Api
from tests.support.events import http_event
from tests.support.examples import ALICE

URL = "https://abc123.execute-api.us-east-1.amazonaws.com"
CREDENTIALS = Credentials("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")


@dataclass
class InMemory:
    """A transport that does API Gateway's part: each request reaches the api Lambda as an event by `caller`."""

    api: Api
    caller: str = ALICE
    sent: list[Request] = field(default_factory=list)
    _one_at_a_time: Lock = field(default_factory=Lock)

    def __call__(self, request: Request) -> Response:
        """Answer as the deployed API would."""
        self.sent.append(request)
        parts = urlsplit(request.url)
        event = http_event(
            request.method,
            unquote(parts.path),
            None if request.body is None else request.body.decode(),
            caller=self.caller,
            headers=request.headers,
            query=dict(parse_qsl(parts.query, keep_blank_values=True)),
        )
        with self._one_at_a_time:  # as Lambda gives an environment its events
            answer = self.api.send(event)
        headers = {name.lower(): value for name, value in answer.headers.items()}
        return Response(answer.status, headers, answer.text.encode())


@dataclass
class Hands:
    """A machine whose time passes only while the client sleeps, or when a transport says so."""

    now: float = 1_000.0
    slept: list[float] = field(default_factory=list)
    keys: int = 0

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.slept.append(seconds)
        self.now += seconds

    def _new_key(self) -> str:
        self.keys += 1
        return f"key-{self.keys}"

    @property
    def machine(self) -> Machine:
        """The machine that the client is given."""
        return Machine(lambda: self.now, self.sleep, lambda: 1.0, self._new_key)


def client_of(transport: Transport, hands: Hands | None = None, client_id: str | None = "acme") -> Clockwork:
    """A client with throw-away credentials."""
    machine = (hands or Hands()).machine
    return Clockwork(URL, client_id, credentials=CREDENTIALS, transport=transport, machine=machine)


def on(api: Api, caller: str = ALICE) -> Clockwork:
    """A client of this API in memory."""
    return client_of(InMemory(api, caller))
