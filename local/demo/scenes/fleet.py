"""The demonstration's pool: two worker processes, of which one is killed with SIGKILL in the middle of its work."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from local.api import SignedApi
from local.demo.scenes.jobs import INVOICES
from local.demo.scenes.scene import Scene
from local.dev.files import environment_of
from local.dev.server import POOL

#: A worker that dies is found when its lease is over: a minute here. The rest is the machine's.
_PATIENCE = 150.0
_KILLED_AFTER = 8


class FleetScene(Scene):
    """One job with checkpoints, whose worker is killed, and one that is cancelled while it runs."""

    def _play(self, api: SignedApi) -> None:
        with tempfile.TemporaryDirectory() as folder, self._screen.step("A pool: one of two workers is killed"):
            log = Path(folder) / "steps.jsonl"
            log.touch()
            with self._worker(log), self._worker(log):
                self._go_on_elsewhere(api, log)
                self._cancel(api, log)

    def _go_on_elsewhere(self, api: SignedApi, log: Path) -> None:
        job_id = self._for_pool(api, "generate_invoices")
        _until(lambda: len(_steps(log, "generate_invoices")) >= _KILLED_AFTER, "a worker at work")
        killed = int(_steps(log, "generate_invoices")[-1][3])
        os.kill(killed, signal.SIGKILL)
        _until(lambda: _state(api, job_id) == "SUCCEEDED", "the other worker's end of the work")
        steps = _steps(log, "generate_invoices")
        first = [step for _, step, attempt, _ in steps if attempt == 1]
        second = [step for _, step, attempt, _ in steps if attempt == 2]
        if {process for _, _, attempt, process in steps if attempt == 2} & {killed} or not second:
            self.faults.append(f"nobody went on where worker {killed} was killed: {steps}")
        elif second[0] not in (first[-1], first[-1] + 1) or second[-1] != INVOICES:
            self.faults.append(f"it went on at {second[0]} behind {first[-1]}, up to {second[-1]}")
        else:
            self.shown["resumedFromCheckpoint"] += 1
            self._screen.say(f"  Invoice {first[-1]} was the last before the kill, {second[0]} the first elsewhere.")

    def _cancel(self, api: SignedApi, log: Path) -> None:
        job_id = self._for_pool(api, "train_model")
        _until(lambda: len(_steps(log, "train_model")) >= 2, "a model in training")
        execution = _execution(api, job_id)
        answer = api.request("POST", f"/v1/executions/{execution['executionId']}/cancel", {})
        if answer.body.get("result") != "running":
            self.faults.append(f"the cancel of a running job says {answer.body}")
        _until(lambda: _state(api, job_id) == "CANCELLED", "the end of what was cancelled")
        if _execution(api, job_id).get("forced"):
            self.faults.append("the worker did not hear of the cancel, and was fenced")
        else:
            self.shown["cancelledRunning"] += 1

    def _for_pool(self, api: SignedApi, handler: str) -> str:
        target = {"type": "pool", "pool": POOL, "handler": handler, "timeoutSeconds": 600}
        return self._created(api, "a job for the pool", target=target, payload={})

    @contextmanager
    def _worker(self, log: Path) -> Iterator[None]:
        told = {**os.environ, **environment_of(self._server)}
        process = subprocess.Popen([sys.executable, "-m", "local.demo.scenes.jobs", str(log)], env=told)
        try:
            yield
        finally:
            process.kill()
            process.wait()


def _execution(api: SignedApi, job_id: str) -> Any:
    items = api.request("GET", f"/v1/jobs/{job_id}/executions").body["items"]
    return items[0] if items else {}


def _state(api: SignedApi, job_id: str) -> str | None:
    return _execution(api, job_id).get("state")  # type: ignore[no-any-return]


def _steps(log: Path, handler: str) -> list[list[Any]]:
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.endswith("]")]
    return [line for line in lines if line[0] == handler]


def _until(condition: Callable[[], bool], what: str) -> None:
    ends_at = time.monotonic() + _PATIENCE
    while not condition():
        if time.monotonic() > ends_at:
            raise TimeoutError(f"{what} never came")
        time.sleep(0.2)
