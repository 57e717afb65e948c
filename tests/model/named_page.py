"""The part of the page about named jobs: a plain model of the API's promises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.model.ledger import Expected, Job, Ledger
from tests.model.operations import Operation


class NamedPage(Ledger):
    """Named jobs: one definition per key, one chain of fires; a change is for what is due later, a delete for all."""

    def name(self, op: Operation) -> Expected:
        assert op.key is not None
        number = self._names.get(op.key)
        if number is not None and self.jobs[number]["state"] != "CANCELLED":
            job = self.jobs[number]
            return (200, self._stands(job)) if job["body"] == op.body else (409, None)
        job = {"named": True, "key": op.key, "state": "ACTIVE", "revision": 1, "body": op.body, "runs": []}
        job["number"] = self._names[op.key] = len(self.jobs)
        self.jobs.append(job)
        self._schedule(job)
        self._fire_next(job, self.now)
        return 201, self._stands(job)

    def put(self, op: Operation) -> Expected:
        return self._replace(op, lambda _: op.body)

    def patch(self, op: Operation) -> Expected:
        return self._replace(op, lambda body: _merged(body, op.body))

    def pause(self, op: Operation) -> Expected:
        return self._set(op, "PAUSED")

    def resume(self, op: Operation) -> Expected:
        return self._set(op, "ACTIVE")

    def run(self, op: Operation) -> Expected:
        job, refused = self._changeable(op)
        if job is None:
            return refused, None
        digest, made = self._keys.get(op.key or "", (None, []))
        if digest not in (None, ("run", job["number"])):
            return 409, None
        if digest is None:
            self._start(job, self.now, self.now, lambda: job["state"] != "CANCELLED")
        if op.key is not None:
            self._keys[op.key] = ("run", job["number"]), made
        return 202, {}

    def list(self, op: Operation) -> Expected:
        query = dict(op.query)
        names = sorted(key for key in self._names if key.startswith(query.get("prefix", "")))
        state = query.get("state")
        found = [self.jobs[self._names[key]] for key in names]
        shown = [self._stands(job) for job in found if job["state"] != "CANCELLED" or state == "CANCELLED"]
        return 200, {"items": [one for one in shown if state in (None, one["state"])]}

    def _replace(self, op: Operation, make: Callable[[Any], Any]) -> Expected:
        job, refused = self._changeable(op)
        if job is None:
            return refused, None
        body = make(job["body"])
        if {"every", "delaySeconds"} <= set(body["schedule"]) or {"catchUp", "delaySeconds"} <= set(body["schedule"]):
            return 422, None
        if body != job["body"]:
            before = job["body"]
            self._change(job, body=body)
            if _timing(body) != _timing(before):
                self._retime(job, before)
        return 200, self._stands(job)

    def _retime(self, job: Job, before: Any) -> None:
        """Another beat starts now, in a pause, too. A one-shot moves, and all that waits of it ends."""
        both_once = "every" not in before["schedule"] and "every" not in job["body"]["schedule"]
        if both_once:
            self._end_waiting(job, lambda run: run["scheduled"])
        self._schedule(job)
        if not both_once:
            job["paused_at"] = self.now
        if job["state"] == "ACTIVE":
            self._fire_next(job, self.now)

    @staticmethod
    def _end_waiting(job: Job, wanted: Callable[[Any], bool]) -> None:
        for run in job["runs"]:
            if run["state"] in ("waiting", "FAILED") and wanted(run):
                run["state"] = "dropped"

    def _set(self, op: Operation, state: str) -> Expected:
        job, refused = self._changeable(op)
        if job is None:
            return refused, None
        if job["state"] != state:
            self._change(job, state=state)
            job["series"] += 1
            if state == "PAUSED":
                job["paused_at"] = self.now
            else:
                self._catch_up(job)
        return 200, self._stands(job)

    def _catch_up(self, job: Job) -> None:
        """Fires the instants missed in a pause: all of a one-shot, of a recurring job as many as its policy says."""
        missed, at = [], self._fire_after(job, job["paused_at"])
        while at is not None and at <= self.now:
            missed.append(at)
            at = self._fire_after(job, at)
        policy = "all" if "every" not in job["body"]["schedule"] else job["body"]["schedule"].get("catchUp", "latest")
        for due_at in {"all": missed, "latest": missed[-1:], "none": []}[policy]:
            self._fire(job, due_at)
        self._fire_next(job, self.now)

    def _change(self, job: Job, **changes: Any) -> None:
        job.update(changes, revision=job["revision"] + 1)

    def _schedule(self, job: Job) -> None:
        job["anchor"] = self.now
        job["series"] = job.get("series", 0) + 1

    def _fire_next(self, job: Job, after_at: int) -> None:
        at, series = self._fire_after(job, after_at), job["series"]
        if at is not None:
            self._plan(at, lambda: self._fire_due(job, at, series))

    def _fire_due(self, job: Job, at: int, series: int) -> None:
        if job["series"] == series and job["state"] == "ACTIVE":
            self._fire(job, at)
            self._fire_next(job, at)

    def _fire(self, job: Job, due_at: int) -> None:
        """Fires an instant, once in the job's life."""
        if not any(run["scheduled"] and run["dueAt"] == due_at for run in job["runs"]):
            self._start(job, due_at, self.now, lambda: bool(job["state"] != "CANCELLED"), scheduled=True)

    @staticmethod
    def _fire_after(job: Job, at: int) -> int | None:
        schedule, anchor = job["body"]["schedule"], job["anchor"]
        if "every" in schedule:
            every_ms = schedule["every"]["seconds"] * 1000
            return int(anchor + every_ms * max(0, (at - anchor) // every_ms + 1))
        due_at = int(anchor + schedule["delaySeconds"] * 1000)
        return due_at if due_at > at else None

    def _stands(self, job: Job) -> Any:
        following = self._fire_after(job, self.now)
        state = "COMPLETED" if job["state"] == "ACTIVE" and following is None else job["state"]
        told = {"jobId": job["number"], "jobKey": job["key"], "state": state, "revision": job["revision"]}
        if "every" not in job["body"]["schedule"]:
            told["dueAt"] = job["anchor"] + job["body"]["schedule"]["delaySeconds"] * 1000
        elif state in ("ACTIVE", "PAUSED"):
            # A paused job shows what it would fire if it were resumed now.
            told["nextFireAt"] = following
        return told

    def _changeable(self, op: Operation) -> tuple[Job | None, int]:
        """The named job of an operation and 200, or None and the status that refuses a change."""
        job = self._job(op)
        if job is None or (job["named"] and (self._is_replaced(job) or job["state"] == "CANCELLED")):
            return None, 404
        return (job, 200) if job["named"] else (None, 409)

    def _is_replaced(self, job: Job) -> bool:
        """Whether a newer job has taken over its key; the API then tells of the older one what is left."""
        return bool(job["named"] and self.jobs[self._names[job["key"]]] is not job)


def _timing(body: Any) -> Any:
    """When a body fires: what it does about missed fires is no part of that."""
    return {name: value for name, value in body["schedule"].items() if name != "catchUp"}


def _merged(value: Any, patch: Any) -> Any:
    """A merge patch without deletions: https://www.rfc-editor.org/rfc/rfc7396"""
    if not isinstance(value, dict) or not isinstance(patch, dict):
        return patch
    return {**value, **{name: _merged(value.get(name), part) for name, part in patch.items()}}
