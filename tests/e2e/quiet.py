"""Two quiet clients beside damage: what they expect, what arrived, and how late."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from clockwork.domain import keys
from clockwork.domain.ids import AnonymousJob
from clockwork.domain.instants import from_text, to_text
from clockwork.domain.jobs import Occurrence
from clockwork.domain.storage.rows import row_of_job
from clockwork.domain.timeline import Row
from clockwork.targets.http import HttpTarget
from clockwork.targets.message import Payload
from local.api import Answer as ApiAnswer
from local.receiver import Answer, Post, Receiver
from tests.e2e.tenant import Tenant
from tests.e2e.waiting import await_value

EVERY_MS = 2_000
HOUR_MS = 3_600_000


class Inbox(Receiver):
    """Takes every request, and notes when each attempt of a job arrived. It answers 503 to paths with `hopeless`."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._arrivals: dict[str, list[Post]] = defaultdict(list)

    def answer(self, post: Post) -> Answer:
        """Notes the request under its jobId."""
        with self._lock:
            self._arrivals[post.headers.get("clockwork-job-id", "")].append(post)
        return Answer(503 if "hopeless" in post.path else 200)

    def of(self, job_id: str) -> list[Post]:
        """The requests of a job so far."""
        with self._lock:
            return list(self._arrivals[job_id])

    def target(self, path: str) -> dict[str, Any]:
        """A target of this inbox, as a job names it."""
        return {"type": "http", "url": f"http://{self.place}/{path}"}


class Quiet:
    """A client whose jobs no damage may touch: one recurring, and anonymous ones through the API and in timeline rows.

    `due` holds, for each anonymous job, its due instant (ms). `latest` is the request that came latest of all phases.
    """

    def __init__(self, tenant: Tenant, inbox: Inbox) -> None:
        self.tenant = tenant
        self.due: dict[str, int] = {}
        self.refused: list[str] = []
        self.latest: Post | None = None
        self._inbox = inbox
        self._recurring = ""
        self._began_at = 0

    def begin(self) -> None:
        """Creates the recurring job of another phase."""
        self.due = {}
        self._began_at = now_ms()
        created = self.tenant.create(
            jobKey=f"quiet-{self._began_at}",
            schedule={"every": {"seconds": EVERY_MS // 1000}},
            target=self._inbox.target("quiet"),
        )
        self._recurring = created["jobId"]

    def create(self) -> None:
        """Creates an anonymous job, and reads what a client reads. A refusal of the API is noted in `refused`."""
        client_id = self.tenant.client_id
        job = {"clientId": client_id, "schedule": {"delaySeconds": 2}, "target": self._inbox.target("quiet")}
        created = self._ask("POST", "/v1/jobs", job)
        if created.status == 201:
            self.due[created.body["jobId"]] = from_text(created.body["dueAt"])
        for path in (f"jobs/{self._recurring}", f"jobs?clientId={client_id}&limit=5", f"clients/{client_id}/dead"):
            self._ask("GET", f"/v1/{path}")

    def _ask(self, method: str, path: str, body: object = None) -> ApiAnswer:
        answer = self.tenant.api.request(method, path, body)
        if answer.status not in (200, 201):
            self.refused.append(f"{method} {path}: {answer.status} {answer.body}")
        return answer

    def rows(self, partition_id: str, dues: Sequence[int]) -> list[Row]:
        """Rows of anonymous jobs of a shard, which a poller must release."""
        target = HttpTarget(self._inbox.target("quiet")["url"], private=True)
        rows = []
        for number, due_at in enumerate(dues):
            row_id = f"{self.tenant.client_id}-{number}"
            one = Occurrence(self.tenant.client_id, due_at, now_ms(), target, Payload(b"1"))
            rows.append(row_of_job(partition_id, row_id, one, due_at + HOUR_MS))
            self.due[AnonymousJob(partition_id, keys.row_key(due_at, row_id), 0).job_id] = due_at
        return rows

    def end(self) -> list[float]:
        """Waits for all that is due by now; returns how late (ms) each came.

        Fails the test unless each occurrence came exactly once, and none early.
        """
        assert not self.refused, self.refused
        ended_at = now_ms()

        def missing() -> list[str]:
            few = [job_id for job_id in self.due if not self._inbox.of(job_id)]
            fires = {post.headers["clockwork-due-at"] for post in self._inbox.of(self._recurring)}
            return few + [at for at in map(to_text, self._fires_until(ended_at)) if at not in fires]

        await_value(lambda: True if not missing() else None, f"the jobs of {self.tenant.client_id}", every_seconds=0.5)
        self.tenant.cancel(self._recurring)
        time.sleep(1)  # a duplicate would come about now
        posts = [*self._inbox.of(self._recurring), *(post for job_id in self.due for post in self._inbox.of(job_id))]
        arrived = [(post.headers["clockwork-job-id"], post.headers["clockwork-due-at"]) for post in posts]
        twice = {one for one in arrived if arrived.count(one) > 1}
        assert not twice, f"{self.tenant.client_id}: these came more than once: {sorted(twice)}"
        wrong = [one for one in arrived if self.due.get(one[0], from_text(one[1])) != from_text(one[1])]
        assert not wrong, f"{self.tenant.client_id}: these came for another instant: {wrong}"
        late = [lateness(post) for post in posts]
        assert min(late) >= 0, f"{self.tenant.client_id}: {min(late)} ms: a job came early"
        self.latest = max((*posts, self.latest or posts[0]), key=lateness)
        return late

    def _fires_until(self, ended_at: int) -> list[int]:
        """The fires that the recurring job must have had."""
        dues = [from_text(post.headers["clockwork-due-at"]) for post in self._inbox.of(self._recurring)]
        first = min(dues, default=self._began_at + EVERY_MS)
        assert self._began_at <= first <= self._began_at + 10_000 + EVERY_MS, "its first fire did not come"
        return list(range(first, ended_at, EVERY_MS))


def lateness(post: Post) -> float:
    """How late (ms) a request came."""
    return post.at - from_text(post.headers["clockwork-due-at"])


def now_ms() -> int:
    """The time (epoch ms)."""
    return time.time_ns() // 1_000_000
