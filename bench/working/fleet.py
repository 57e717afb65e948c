"""Worker processes of `bench.workers`, the jobs that are made for them, and what they began."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from botocore.credentials import Credentials

from clockwork_client import Clockwork, job
from clockwork_client.targets import pool as pool_target
from local.dev.files import environment_of
from local.dev.running import Server
from local.dev.server import POOL
from local.emulator import ACCOUNT, REGION

#: How many handlers of a worker run at once.
SLOTS = 20
_PATIENCE = 180.0


class Begun(NamedTuple):
    """A line of a worker's log: one beginning of a handler, at an instant (s), from a checkpoint if there was one."""

    at: float
    name: str
    attempt: int
    checkpoint: Any
    due_at: float
    process: int


class Fleet:
    """Worker processes, and what they began."""

    def __init__(self, folder: Path, ready: Server) -> None:
        self._folder = folder
        credentials = Credentials(ready.demo.access_key, ready.demo.secret_key)
        self.cw = Clockwork(ready.url, "demo", region="us-east-1", credentials=credentials)
        self._environment = {**os.environ, **environment_of(ready)}
        self._ready = ready
        self._number = 0

    def other_client(self, name: str) -> Clockwork:
        """A further client that may use the pool."""
        api_arn = f"arn:aws:execute-api:{REGION}:{ACCOUNT}:{self._ready.stack.outputs['ApiId']}/*"
        caller = {"Effect": "Allow", "Action": "execute-api:Invoke", "Resource": api_arn}
        user = self._ready.stack.create_user(name, caller)
        admin = self._ready.stack.api()
        answer = admin.request("PUT", f"/v1/clients/{name}", {"principals": [user.arn], "allowedPools": [POOL]})
        admin.close()
        assert answer.status == 200, f"the API did not take the client {name}: {answer.body}"
        credentials = Credentials(user.access_key, user.secret_key)
        return Clockwork(self._ready.url, name, region=REGION, credentials=credentials)

    @contextmanager
    def worker(self, slots: int = SLOTS) -> Iterator[subprocess.Popen[bytes]]:
        """A process, drained at the end: an open poll of a dead one would take tickets, and hide them for a minute."""
        self._number += 1
        log = self._folder / f"worker-{self._number}.jsonl"
        command = [sys.executable, "-m", "bench.workers", "--work", str(log), "--slots", str(slots)]
        process = subprocess.Popen(command, env=self._environment)
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def begun(self, prefix: str = "") -> list[Begun]:
        """Every beginning of jobs whose names begin so, in order of time."""
        lines = [line for log in self._folder.glob("*.jsonl") for line in log.read_text().splitlines()]
        found = [Begun(*json.loads(line)) for line in lines]
        return sorted(one for one in found if one.name.startswith(prefix))

    def create(
        self,
        name: str,
        count: int,
        *,
        priority: str = "normal",
        over: float = 0.0,
        behind: float = 2.0,
        by: Clockwork | None = None,
        **more: Any,
    ) -> None:
        """Create so many jobs of a client, due in `behind` s, or spread over so many seconds from then on."""
        now = time.time()
        jobs = []
        for number in range(count):
            due_at = now + behind + over * number / count
            payload = {"name": f"{name}-{number}", "dueAt": due_at, **more}
            target = pool_target(POOL, "work", timeout_seconds=600, priority=priority)  # type: ignore[arg-type]
            jobs.append(job(target, payload, at=datetime.fromtimestamp(due_at, UTC)))
        results = list((by or self.cw).schedule_many(jobs))
        refused = [one for one in results if one.job is None]
        assert not refused, f"{len(refused)} jobs are refused: {refused[0].error}"


def until(condition: Callable[[], Any], what: str) -> None:
    """Wait until something holds. Raises AssertionError if it never does."""
    ends_at = time.monotonic() + _PATIENCE
    while not condition():
        assert time.monotonic() < ends_at, f"never came: {what}"
        time.sleep(0.05)
