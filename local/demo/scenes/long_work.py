"""The demonstration's long work: a webhook that answers 202, works on for some seconds, and completes its job then."""

from __future__ import annotations

import base64
import threading
import time
from typing import Any

from local.api import SignedApi
from local.demo.scenes.scene import Scene
from local.demo.webhooks import fault_of
from local.dev.keys import WEBHOOK_SECRET
from local.receiver import Answer, Post, Receiver

_KEY = base64.b64decode(WEBHOOK_SECRET.removeprefix("whsec_"))
_WORK_SECONDS = 3.0
_PATIENCE = 60.0


class Printer(Receiver):
    """Accepts requests that are signed with our secret, and keeps the token of each accepted attempt."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens: list[str] = []
        self.has_work = threading.Event()

    def answer(self, post: Post) -> Answer:
        """202: the work has begun, and is not done."""
        if fault_of(post.headers, post.body, _KEY, post.at / 1000) or "clockwork-token" not in post.headers:
            return Answer(401)
        self.tokens.append(post.headers["clockwork-token"])
        self.has_work.set()
        return Answer(202)


class LongWorkScene(Scene):
    """One job whose webhook accepts it at once, and completes it some seconds later."""

    def _play(self, api: SignedApi) -> None:
        with Printer() as printer, self._screen.step("A webhook answers 202, and completes its job later"):
            self._complete_later(api, printer)

    def _complete_later(self, api: SignedApi, printer: Printer) -> None:
        target = {"type": "http", "url": f"http://127.0.0.1:{printer.port}/print"}
        job_id = self._created(api, "a job that ends later", target=target, payload={}, completion={"mode": "callback"})
        if not printer.has_work.wait(_PATIENCE):
            raise TimeoutError("the webhook that answers 202 was never called")
        accepted_at = time.monotonic()
        time.sleep(_WORK_SECONDS)
        during = _execution(api, job_id)
        if during.get("state") != "RUNNING":
            self.faults.append(f"what was accepted is {during.get('state')} before it is completed")
        done = {"token": printer.tokens[0], "result": {"pages": 12}}
        answer = api.request("POST", f"/v1/executions/{during['executionId']}/complete", done)
        after = _execution(api, job_id)
        if answer.status != 200 or after.get("state") != "SUCCEEDED" or len(printer.tokens) != 1:
            self.faults.append(f"the webhook's completion: {answer.status} {answer.body}, {len(printer.tokens)} calls")
        else:
            self.shown["completedByCallback"] += 1
            seconds = time.monotonic() - accepted_at
            self._screen.say(f"  RUNNING after the 202, SUCCEEDED {seconds:.1f} s later by its own report.")


def _execution(api: SignedApi, job_id: str) -> Any:
    items = api.request("GET", f"/v1/jobs/{job_id}/executions").body["items"]
    return items[0] if items else {}
