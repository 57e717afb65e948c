"""The demonstration's workflow: an order whose payment is refused is undone, and goes through once it is redriven."""

from __future__ import annotations

import base64
import json
import threading
from typing import Any

from clockwork_client import Workflow, retry
from local.api import SignedApi
from local.demo.scenes.scene import Scene
from local.demo.webhooks import fault_of
from local.dev.keys import WEBHOOK_SECRET
from local.receiver import Answer, Post, Receiver

_KEY = base64.b64decode(WEBHOOK_SECRET.removeprefix("whsec_"))
_REFUSED = {"reserve": "SUCCEEDED", "pay": "DEAD", "ship": "UNREACHED", "undo": "SUCCEEDED"}
_PAID = {"reserve": "SUCCEEDED", "pay": "SUCCEEDED", "ship": "SUCCEEDED", "undo": "SKIPPED"}


class Shop(Receiver):
    """Answers for the steps of an order. Its bank refuses until `has_funds`."""

    def __init__(self) -> None:
        super().__init__()
        self.has_funds = threading.Event()
        #: The steps that were called, in their order, each with its payload.
        self.called: list[tuple[str, Any]] = []

    def answer(self, post: Post) -> Answer:
        """The step's result as JSON."""
        if fault_of(post.headers, post.body, _KEY, post.at / 1000):
            return Answer(401)
        step = post.headers.get("clockwork-node", "none")
        self.called.append((step, json.loads(post.body)))
        if step == "pay" and not self.has_funds.is_set():
            return Answer(422, b'{"error": "no funds"}')
        return Answer(200, json.dumps({"reserve": {"id": "r-17"}, "pay": {"receipt": "n-1"}}.get(step, {})).encode())


def order_at(place: str) -> Workflow:
    """Reserve, pay, ship; undo on failure."""
    wf, once = Workflow(timeout=600), retry(max_attempts=1)
    reserve = wf.step("reserve", f"http://{place}/reserve", payload=wf.input, retry=once)
    pay = wf.step("pay", f"http://{place}/pay", payload={"hold": reserve.result["id"]}, retry=once)
    ship = wf.step("ship", f"http://{place}/ship", payload={"paid": pay.result["receipt"]}, retry=once)
    hold = {"hold": reserve.result["id"]}
    wf.step("undo", f"http://{place}/undo", after=ship, when="failed", payload=hold, retry=once)
    return wf


class OrderScene(Scene):
    """One order: its payment is refused, what was reserved is given back, and a redrive pays and ships it."""

    def _play(self, api: SignedApi) -> None:
        with Shop() as shop, self._screen.step("A workflow: an order is undone, and redriven"):
            self._order(api, shop)

    def _order(self, api: SignedApi, shop: Shop) -> None:
        job_id = self._created(api, "a workflow", target=order_at(shop.place).raw, payload={"order": 17})
        run = self._awaited(api, job_id, "DEAD", "the workflow")
        self._expect(api, run, shop, _REFUSED, ["reserve", "pay", "undo"], "undoneWorkflow")
        shop.has_funds.set()
        shop.called.clear()
        api.request("POST", f"/v1/executions/{run}/redrive", {})
        self._awaited(api, job_id, "SUCCEEDED", "the workflow")
        self._expect(api, run, shop, _PAID, ["pay", "ship"], "redrivenWorkflow")

    def _expect(
        self, api: SignedApi, run: str, shop: Shop, states: dict[str, str], called: list[str], name: str
    ) -> None:
        answer = api.request("GET", f"/v1/executions/{run}/nodes")
        found = {one["name"]: one["state"] for one in answer.body.get("items", [])}
        if found != states or [step for step, _ in shop.called] != called:
            self.faults.append(f"the workflow: {found}, and its steps were called with {shop.called}")
        else:
            self.shown[name] += 1
            self._screen.say(f"  {', '.join(f'{step} {state}' for step, state in found.items())}.")
