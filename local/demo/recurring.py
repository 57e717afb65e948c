"""A recurring job in the demonstration: every two seconds, paused, resumed, run by hand and deleted."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from clockwork.domain.instants import from_text
from local.demo.plan import Channel, Kind
from local.demo.scene import Scene
from local.dev.faults import ServerFailed

KEY = "demo-tick"
EVERY_SECONDS = 2
FIRES_BEFORE = 4
FIRES_AFTER = 2
#: How long the demonstration waits to see that nothing fires: longer than two intervals.
SILENCE_SECONDS = 5.0
PATIENCE_SECONDS = 30.0


class Recurring:
    """One recurring job and the `faults` that were seen: phrases, none if all went well."""

    def __init__(self, scene: Scene, say: Callable[[str], None]) -> None:
        self._scene = scene
        self._say = say
        self._path = ""
        self.faults: list[str] = []

    def run(self) -> None:
        """Take the job through its whole life, from create to delete. Raises ServerFailed if the API refuses a step."""
        self._create()
        self._await(lambda: len(self._fired()) >= FIRES_BEFORE, f"{FIRES_BEFORE} fires")
        self._ask("POST", f"{self._path}/pause", {"reason": "to show it"})
        self._expect_silence("it was paused")
        resumed = len(self._fired())
        self._ask("POST", f"{self._path}/resume", {})
        self._await(lambda: len(self._fired()) >= resumed + FIRES_AFTER, "fires after the resume")
        run = self._ask("POST", f"{self._path}/run", {})["executionId"]
        self._await(lambda: bool(self._accepted(run)), "its run by hand")
        answer = self._ask("DELETE", self._path)
        self._expect_silence("it was deleted")
        self._judge()
        self._say(
            f"Every {EVERY_SECONDS} s: {len(self._fired())} fires; paused, resumed, run by hand, deleted"
            f" ({answer['result']}): {'as it must' if not self.faults else '; '.join(self.faults)}."
        )

    def _create(self) -> None:
        body = {
            "jobKey": KEY,
            "schedule": {"every": {"seconds": EVERY_SECONDS}},
            "target": self._scene.target(Channel.WEBHOOK, Kind.SOON),
            "payload": {"kind": "recurring"},
        }
        self._path = f"/v1/jobs/{self._ask('POST', '/v1/jobs', body)['jobId']}"

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        answer = self._scene.api.request(method, path, body)
        if answer.status not in (200, 201, 202):
            raise ServerFailed(f"The API did not take {method} {path}: {answer.status} {answer.body}")
        return answer.body

    def _executions(self) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = self._ask("GET", f"{self._path}/executions")["items"]
        return items

    def _fired(self) -> list[dict[str, Any]]:
        """The executions whose occurrence was accepted, newest first."""
        return [execution for execution in self._executions() if self._accepted(execution["executionId"])]

    def _accepted(self, execution_id: str) -> int:
        return sum(arrival.accepted for arrival in self._scene.arrivals.of(execution_id))

    def _await(self, seen: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + PATIENCE_SECONDS
        while not seen():
            if time.monotonic() > end:
                self.faults.append(f"{what} did not come in {PATIENCE_SECONDS:g} s")
                return
            time.sleep(0.2)

    def _expect_silence(self, after_what: str) -> None:
        """Note a fault if an occurrence starts after the API's answer.

        No event shows that none will come, so this waits for a fixed time.
        """
        time.sleep(0.2)  # for attempts that were under way when the answer came, which lists them
        before = len(self._fired())
        time.sleep(SILENCE_SECONDS)
        if len(self._fired()) > before:
            self.faults.append(f"something fired after {after_what}")

    def _judge(self) -> None:
        for execution in self._executions():
            arrivals = self._scene.arrivals.of(execution["executionId"])
            if sum(arrival.accepted for arrival in arrivals) > 1:
                self.faults.append(f"{execution['executionId']} was accepted more than once")
            if any(arrival.at < from_text(execution["dueAt"]) for arrival in arrivals):
                self.faults.append(f"{execution['executionId']} arrived before it was due")
