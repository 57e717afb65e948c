"""The demonstration's receiver and queue, and the deliveries that arrive there."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from local.api import SignedApi
from local.demo.arrivals import Arrivals
from local.demo.plan import Channel, Kind
from local.demo.reader import reader
from local.demo.screen import Screen
from local.demo.webhooks import FLAKY_PATH, STEADY_PATH, Webhooks
from local.dev.keys import WEBHOOK_SECRET
from local.dev.running import Server
from local.dev.server import QUEUE, QUEUE_ARN

_KEY = base64.b64decode(WEBHOOK_SECRET.removeprefix("whsec_"))


@dataclass(frozen=True)
class Scene:
    """The API as the client `demo` calls it, and where its deliveries arrive."""

    api: SignedApi
    receiver_port: int
    arrivals: Arrivals

    def target(self, channel: Channel, kind: Kind = Kind.SOON) -> dict[str, str]:
        """The target of a job, as a request to the API has it."""
        if channel is Channel.QUEUE:
            return {"type": "sqs", "queueArn": QUEUE_ARN}
        path = FLAKY_PATH if kind is Kind.FLAKY else STEADY_PATH
        return {"type": "http", "url": f"http://127.0.0.1:{self.receiver_port}{path}"}


@contextmanager
def scene(screen: Screen, server: Server) -> Iterator[Scene]:
    """Start the receiver and the queue's reader on a running server; both end with the block."""
    arrivals = Arrivals()
    sqs = server.stack.client("sqs")
    queue_url = sqs.create_queue(QueueName=QUEUE)["QueueUrl"]
    with Webhooks(_KEY, arrivals) as webhooks, reader(sqs, queue_url, arrivals, screen.say):
        yield Scene(server.api(), webhooks.port, arrivals)
