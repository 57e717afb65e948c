"""The API's promises on a page: a plain model of jobs in dictionaries, which carries out one operation at a time."""

from __future__ import annotations

from typing import Any

from tests.model.ledger import Expected, by_instant
from tests.model.named_page import NamedPage
from tests.model.operations import Operation

#: Possible results of cancelling an unrecorded job before it is due: the client cannot know how far it has got.
EITHER = frozenset({"cancelled", "too_late"})


class Page(NamedPage):
    """Everything that a client may rely on."""

    def create(self, op: Operation) -> Expected:
        status, made = self._keyed(op, [op.body])
        if status != 201:
            return status, None
        (number,) = made
        assert number is not None
        return 201, self._told(number)

    def create_batch(self, op: Operation) -> Expected:
        status, made = self._keyed(op, op.body)
        if status != 201:
            return status, None
        told = [{"status": 422} if number is None else {"status": 201, **self._told(number)} for number in made]
        return 200, {"results": told}

    def get(self, op: Operation) -> Expected:
        job = self._job(op)
        if job is None:
            return 404, None
        if self._is_replaced(job):
            return 200, {"jobId": job["number"], "jobKey": job["key"], "state": "CANCELLED"}
        told = {"jobId": job["number"], "payload": job["body"]["payload"]}
        if job["named"]:
            return 200, {**told, **self._stands(job)}
        runs = self._shown_runs(job)
        state = runs[0]["state"] if runs else "CANCELLED" if job["noted"] else "waiting"
        return 200, {**told, "state": state, "dueAt": job["due"]}

    def cancel(self, op: Operation) -> Expected:
        job = self._job(op)
        if job is None or self._is_replaced(job):
            return 404, None
        if job["named"]:
            if job["state"] != "CANCELLED":
                self._change(job, state="CANCELLED")
                self._end_waiting(job, lambda _: True)
            return 200, {"result": "cancelled"}
        job["noted"] = True
        if job["body"]["record"] == "none":
            return 200, {"result": "too_late" if job["due"] <= self.now else EITHER}
        (run,) = job["runs"]
        if run["state"] in ("SUCCEEDED", "DEAD"):
            return 200, {"result": "too_late"}
        run["state"] = "CANCELLED"
        return 200, {"result": "cancelled"}

    def executions(self, op: Operation) -> Expected:
        job = self._job(op)
        if job is None:
            return 404, None
        return 200, {"items": sorted((self._execution(run) for run in self._shown_runs(job)), key=by_instant)}

    def redrive(self, op: Operation) -> Expected:
        job = self._job(op)
        run = next(iter(self._shown_runs(job)), None) if job is not None and not job["named"] else None
        if job is None or run is None:
            return 404, None
        if run["state"] != "DEAD":
            return 409, None
        run["state"], run["budget"] = "PENDING", len(run["attempts"])
        told = self._execution(run)
        self._plan(self.now, lambda: self._attempt(job, run, lambda: True))
        return 200, told

    def trespass(self, op: Operation) -> Expected:
        return 404, None

    def note(self, op: Operation, told: Any) -> None:
        """Notes which of two allowed answers Clockwork gave; from then on it is bound to that answer."""
        job = self._job(op)
        if op.kind == "cancel" and told.get("result") == "cancelled" and job is not None and not job["named"]:
            job["gone"] = True

    def may_come_again(self, number: int) -> bool:
        """Whether the job may be delivered twice: it is not recorded, and its create was repeated."""
        job = self.jobs[number]
        return job["body"]["record"] == "none" and bool(job.get("repeated"))

    def _keyed(self, op: Operation, bodies: list[Any]) -> tuple[int, list[int | None]]:
        digest, made = self._keys.get(op.key or "", (None, []))
        if digest not in (None, (op.kind, op.body)):
            return 409, []
        again = digest is not None
        for number in made:
            if number is not None:
                self.jobs[number]["repeated"] = True
        if not again:
            made = [None if body["schedule"]["delaySeconds"] < 0 else self._add(body) for body in bodies]
        if op.key is not None:
            self._keys[op.key] = (op.kind, op.body), made
        return 201, made

    def _add(self, body: Any) -> int:
        due_at = self.now + body["schedule"]["delaySeconds"] * 1000
        number = len(self.jobs)
        job = {"number": number, "named": False, "due": due_at, "body": body, "runs": [], "noted": False}
        self.jobs.append(job)
        self._start(job, due_at, due_at, lambda: not job.get("gone"))
        return number

    def _told(self, number: int) -> Any:
        return {"jobId": number, "state": "waiting", "dueAt": self.jobs[number]["due"]}
