"""A console that listens, over a Clockwork of the testing kit whose clock the browser believes to be its own."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import uvicorn

from clockwork.domain.ids import ExecutionId
from clockwork_client import Clockwork, Workflow, http, retry
from clockwork_client.console.context import Context
from clockwork_client.console.serving import _config, link, listen
from clockwork_client.console.sessions import Sessions
from clockwork_client.testing import Answer, Delivery, VirtualClockwork
from clockwork_client.testing.virtual import _ADMIN

#: The scene begins so long before now.
_PAST = timedelta(minutes=28)
_TARGET = "https://hooks.example.com"
_TWICE = retry(max_attempts=2, initial_seconds=1)


class Stage:
    """The jobs of a shop that has trouble, as pictures show it, and the console in front of them."""

    def __init__(self) -> None:
        now = datetime.now(UTC).replace(microsecond=0)
        self.v = VirtualClockwork(now - _PAST)
        self.v.client("shop", runs_index=True)
        # An admin of the deployment who acts for the shop: the rail then has all pages.
        self.cw: Clockwork = self.v._client(_ADMIN, "shop")
        self.v.on_deliver(self._answer)
        self.ids = {key: self._made(key, **options) for key, options in _JOBS.items()}
        for number in range(24):
            self._made(f"tenants/{number:03}/daily-report", "/ok", cron=f"{number * 7 % 60} {number} * * *",
                       timezone=("Europe/Berlin", "America/New_York", "Asia/Tokyo")[number % 3],
                       tags={"team": "tenants"})  # fmt: skip
        for number in range(60):
            self.cw.schedule(http(_TARGET + ("/ok", "/ok", "/bad")[number % 3]), {"order": number},
                             in_=30 + number * 80, retry=_TWICE)  # fmt: skip
        self.order = self.cw.schedule(_order(), {"order": 17}, in_=0).job_id
        self.v.on_step("pay", lambda _: Answer(422, '{"error":"<b>no funds</b>"}'))
        made = self.cw.operations.begin("resumeJobs", tag="team=ops", reason="the maintenance is over")
        self.operation = made.operation_id
        self.v.run_until(now)
        self.cw.jobs.pause(self.ids["growth/import-leads"], "vendor migration until Thursday (CHG-1182)")
        with listen(0) as listener:
            self.port = listener.getsockname()[1]
        self.context = Context(
            self.cw, Sessions(self.port), now=lambda: self.v.now, clock=lambda: self.v.now.timestamp()
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def link(self) -> str:
        """A new link into the console."""
        return link(self.context.sessions, self.port)

    def pages(self) -> dict[str, str]:
        """Name of a picture -> the address of the page on it."""
        dead = next(iter(self.cw.dead.list())).execution_id
        workflow = self.v.run(self.order).execution_id
        return {
            "attention": "/",
            "jobs": "/jobs",
            "job": f"/jobs/{self.ids['crm/sync-contacts']}",
            "job-dst": f"/jobs/{self.ids['billing/close-of-day']}",
            "job-hostile": f"/jobs/{self.ids[_HOSTILE]}",
            "new": "/jobs/new",
            "edit": f"/jobs/{self.ids['billing/close-of-day']}/edit",
            "fires": f"/jobs/{self.ids['billing/close-of-day']}/fires",
            "pause": f"/jobs/{self.ids['ops/rotate-logs']}/pause",
            "run": f"/executions/{dead}",
            "workflow": f"/executions/{workflow}",
            "workflow-redrive": f"/executions/{workflow}/redrive?from=reserve",
            "runs": "/runs",
            "runs-all": "/runs?jobs=all",
            "upcoming": "/upcoming",
            "dead": "/dead",
            "redrive": "/operations/new?kind=redriveDead&prefix=crm",
            "pause-many": "/operations/new?kind=pauseJobs&tag=team%3Dops",
            "operations": "/operations",
            "operation": f"/operations/{self.operation}",
            "changes": "/changes",
            "pools": "/pools",
            "clients": "/clients",
            "client-pause": "/clients/shop/pause",
            "shards": "/shards",
            "nowhere": "/nowhere",
        }

    def catch_up(self) -> None:
        """Let the time pass that has passed for the browser."""
        self.v.run_until(max(self.v.now, datetime.now(UTC)))
        self.context.source.forget()

    def pass_time(self, **duration: float) -> None:
        """Let time pass in the Clockwork, and let the pages ask anew."""
        self.v.advance(**duration)
        self.context.source.forget()

    def kill(self, key: str, count: int) -> None:
        """Make so many dead executions of a new job, whose target is mended behind them."""
        job_id = self._made(key, "/bad", in_=0, retry=retry(max_attempts=1))
        self.v.advance(seconds=5)
        self.cw.jobs.replace(job_id, http(_TARGET + "/ok"), {"for": key}, in_=0)
        executions = self.v._core.executions
        (dead,) = executions.list(job_id, 10, None)
        for number in range(1, count):
            due_at = dead.due_at - number
            execution_id = str(ExecutionId(job_id, due_at, "0"))
            assert dead.kept.occurrence is not None
            occurrence = msgspec.structs.replace(dead.kept.occurrence, due_at=due_at)
            kept = msgspec.structs.replace(dead.kept, occurrence=occurrence)
            one = msgspec.structs.replace(dead, execution_id=execution_id, due_at=due_at, kept=kept)
            assert executions.save([(None, one)])[0].ok

    def _made(self, key: str, path: str, **options: Any) -> str:
        return self.cw.schedule(http(_TARGET + path), {"for": key}, key=key, **options).job_id

    @staticmethod
    def _answer(delivery: Delivery) -> Answer:
        path = str(delivery.target.raw.get("url"))
        if path.endswith("/down"):
            return Answer(503, '<script>alert("from the target")</script> upstream connect error')
        if path.endswith("/bad"):
            return Answer(400, '{"error":"no such invoice"}')
        is_flaky = path.endswith("/flaky") and delivery.at.second % 3 == 0 and delivery.attempt == 1
        return Answer(503, "try again") if is_flaky else Answer(200)


def _order() -> Workflow:
    """An order whose payment is refused, beside two steps that are waited for together."""
    wf, place = Workflow(), f"{_TARGET}/ok"
    reserve = wf.step("reserve", place, retry=_TWICE)
    pay = wf.step("pay", place, after=reserve, retry=_TWICE)
    ship = wf.step("ship-with-a-carrier-of-the-customers", place, after=pay, retry=_TWICE)
    thanks = [wf.step(f"tell-{who}", place, after=reserve) for who in ("customer", "warehouse", "partner")]
    wf.step("survey", place, after=thanks)
    wf.step("undo", place, after=ship, when="failed")
    wf.step("clean-up", place, after=[ship, *thanks], when="ended")
    return wf


_HOSTILE = "zz <img src=x onerror=alert(1)> {{7*7}} العربية"
_JOBS: dict[str, dict[str, Any]] = {
    "billing/nightly-invoices": {"path": "/ok", "cron": "0 3 * * *", "timezone": "Europe/Berlin",
                                 "tags": {"team": "billing"}, "overlap": "skip"},
    "billing/close-of-day": {"path": "/ok", "cron": "30 2 * * *", "timezone": "Europe/Berlin",
                             "tags": {"team": "billing"}},
    "billing/monthly-statement": {"path": "/ok", "cron": "0 0 1 * *", "timezone": "America/Sao_Paulo"},
    "shop/poll-stock": {"path": "/flaky", "every": 7, "tags": {"team": "shop"}, "retry": _TWICE},
    "shop/heartbeat": {"path": "/ok", "every": 15, "tags": {"team": "shop", "canary": "true"}},
    "crm/sync-contacts": {"path": "/bad", "every": 60, "tags": {"team": "crm"}, "retry": _TWICE},
    "crm/push-invoices": {"path": "/down", "every": 120, "tags": {"team": "crm"}, "retry": _TWICE},
    "ops/rotate-logs": {"path": "/ok", "every": 60, "tags": {"team": "ops"}},
    "ops/refresh-rates": {"path": "/ok", "cron": "*/2 * * * *", "timezone": "Asia/Kolkata", "tags": {"team": "ops"}},
    "growth/weekly-digest": {"path": "/ok", "cron": "0 8 * * MON", "timezone": "America/Los_Angeles"},
    "growth/import-leads": {"path": "/ok", "every": 90, "tags": {"team": "growth"}},
    _HOSTILE: {"path": "/ok", "cron": "0 12 * * *", "tags": {"evil": '"><svg onload=alert(2)>'}},
}  # fmt: skip


@contextmanager
def playing() -> Iterator[Stage]:
    """The stage, while its console listens."""
    stage = Stage()
    server = uvicorn.Server(_config(stage.context, stage.port))
    listener = socket.create_server(("127.0.0.1", stage.port))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        until = time.monotonic() + 10
        while not server.started and time.monotonic() < until:
            time.sleep(0.01)
        assert server.started
        yield stage
    finally:
        server.should_exit = True
        thread.join(10)
        listener.close()
        stage.context.source.close()
