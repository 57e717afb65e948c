"""A worker of a pool over the API: it receives tickets from the memory queue, hands them in, and tells what became."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec

from clockwork.memory.queue import Message
from tests.handlers.handlers import Answer, Api
from tests.support.examples import ACME, ADMIN

ROLE = "arn:aws:iam::111111111111:role/BatchWorkers"
SESSION = "arn:aws:sts::111111111111:assumed-role/BatchWorkers/i-1"
QUEUES = "https://sqs.eu-central-1.amazonaws.com/111111111111"
POOL = "batch-etl"
HANDLER = "generate_invoices"
TARGET = {"type": "pool", "pool": POOL, "handler": HANDLER, "timeoutSeconds": 600}
_numbers = itertools.count(1)


def with_pool(**settings: Any) -> Api:
    """A deployment with the pool `batch-etl`, which acme may use, and the pool `gpu`, which it may not."""
    pools = ("batch-etl=high,normal,low", "gpu=normal")
    api = Api(pools=pools, release_queue_url=f"{QUEUES}/Clockwork-Release", **settings)
    for pool in (POOL, "gpu"):
        body = {"principals": [ROLE], "handlers": [HANDLER, "close_month"]}
        assert api.call("PUT", f"/v1/pools/{pool}", body, caller=ADMIN).status == 200
    stored = api.clockwork.clients.get("acme") or ACME
    api.clockwork.clients.put(msgspec.structs.replace(stored, allowed_pools=(POOL,)))
    return api


def claim_id() -> str:
    """A claimId that was not used before."""
    return f"{next(_numbers):022d}"


class Worker:
    """One worker, with the handlers that it has."""

    def __init__(self, api: Api, *handlers: str, pool: str = POOL, caller: str = SESSION) -> None:
        self.api = api
        self.handlers = list(handlers) or [HANDLER]
        self.pool = pool
        self.caller = caller

    def receive(self, priority: str = "normal") -> list[Message]:
        """The messages that are visible now."""
        return list(self.api.clockwork.pool_queues.of(POOL, priority).receive())

    def claim(self, *claims: dict[str, str], **more: Any) -> list[dict[str, Any]]:
        """Hand tickets in."""
        body = {"workerId": "host-1", "handlers": self.handlers, "claims": list(claims), **more}
        answer = self.post("claims", body)
        assert answer.status == 200, answer.text
        found: list[dict[str, Any]] = answer.body["claims"]
        return found

    def take(self, priority: str = "normal") -> list[dict[str, Any]]:
        """Receive what is visible, and hand it in."""
        messages = self.receive(priority)
        return self.claim(*map(claim_of, messages)) if messages else []

    def beat(self, *beats: dict[str, Any]) -> list[dict[str, Any]]:
        """Send heartbeats."""
        found: list[dict[str, Any]] = self.post("heartbeats", {"heartbeats": list(beats)}).body["heartbeats"]
        return found

    def tell(self, token: str, outcome: str, **more: Any) -> str:
        """Tell how an attempt ended; how that was taken."""
        (answer,) = self.post("outcomes", {"outcomes": [{"token": token, "outcome": outcome, **more}]}).body["outcomes"]
        return str(answer["outcome"])

    def post(self, what: str, body: Any) -> Answer:
        """Call one of the routes of workers."""
        return self.api.call("POST", f"/v1/pools/{self.pool}/{what}", body, caller=self.caller)


def claim_of(message: Message) -> dict[str, str]:
    """The claim of a message under a claimId of its own."""
    return {"claimId": claim_id(), "ticket": message.body, "receiptHandle": message.message_id}
