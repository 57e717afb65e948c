"""Sends a load to the API as a careful client does: it repeats each request, unchanged, until it is answered."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from urllib3.exceptions import HTTPError

from clockwork.domain.instants import from_text
from local.api import Answer, SignedApi
from tests.chaos.load import Ask, Kind, Request, fires_of, record_of, request_of
from tests.chaos.promises import Key, Promise
from tests.e2e.waiting import await_value

REPEAT_SECONDS = 0.2
#: How many requests may wait for their answers at once.
THREADS = 4
#: How long the sender repeats a request before the run fails.
PATIENCE_SECONDS = 60


class Refused(Exception):
    """The API refused a request that it has to accept, or gave no answer for a minute."""


class Sender:
    """Sends one client's requests. `promises` come from answered ones, `repeats` counts tries without success."""

    def __init__(self, api: SignedApi, client_id: str, url: str, run: str) -> None:
        self._api = api
        self._client_id = client_id
        self._url = url
        self._names = (f"{run}-{number}" for number in itertools.count())
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._promises: list[Promise] = []
        self._under_way = 0
        self.repeats = 0

    @property
    def promises(self) -> list[Promise]:
        """All promises so far."""
        with self._lock:
            return list(self._promises)

    def send(self, asks: Sequence[Ask]) -> None:
        """Sends each request at its time, and returns when all are answered. Raises Refused."""
        begun = time.monotonic()
        with ThreadPoolExecutor(THREADS) as threads:
            try:
                sent = []
                for ask in asks:
                    if self._stopped.wait(max(0, begun + ask.offset_ms / 1_000 - time.monotonic())):
                        return
                    sent.append(threads.submit(self._ask, ask))
                for one in sent:
                    one.result()
            except BaseException:
                self.stop()
                raise

    def stop(self) -> None:
        """Sends no more requests, and repeats none."""
        self._stopped.set()

    def await_under_way(self, seconds: float = 10) -> None:
        """Waits until the api has a request under way."""
        await_value(lambda: True if self._under_way else None, "a request is under way", seconds, 0.001)

    def _ask(self, ask: Ask) -> None:
        name = next(self._names)
        request = request_of(ask, self._url, name, _now())
        body = {"clientId": self._client_id, **request.body}
        key = {} if "jobKey" in body else {"Idempotency-Key": name}
        answer = self._until_answered("POST", request.path, body, key)
        promises = _promises_of(ask, request, answer, _now())
        if ask.kind is Kind.CANCELLED:
            said = self._until_answered("DELETE", f"/v1/jobs/{promises[0].key.job_id}", None, {})
            promises = [replace(promises[0], cancel=said["result"])]
        with self._lock:
            self._promises += promises

    def _until_answered(self, method: str, path: str, body: Any, headers: dict[str, str]) -> dict[str, Any]:
        give_up_at = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < give_up_at and not self._stopped.is_set():
            answer = self._once(method, path, body, headers)
            if answer is not None and answer.status < 300:
                return dict(answer.body)
            if answer is not None and answer.status < 500 and answer.status != 429:
                raise Refused(f"{method} {path}: {answer.status} {answer.body}")
            with self._lock:
                self.repeats += 1
            self._stopped.wait(REPEAT_SECONDS)
        raise Refused(f"{method} {path}: no answer within {PATIENCE_SECONDS} s")

    def _once(self, method: str, path: str, body: Any, headers: dict[str, str]) -> Answer | None:
        with self._lock:
            self._under_way += 1
        try:
            return self._api.request(method, path, body, headers)
        except HTTPError:
            return None
        finally:
            with self._lock:
                self._under_way -= 1


def _promises_of(ask: Ask, request: Request, answer: dict[str, Any], answered_at: int) -> list[Promise]:
    """The promises of an answer. Raises Refused unless every job was accepted for the instant it asked for."""
    jobs = answer.get("results", [answer])
    for job, dues in zip(jobs, request.dues, strict=True):
        if "jobId" not in job or ("dueAt" in job and from_text(job["dueAt"]) != dues[0]):
            raise Refused(f"{request.path}: {job}, but it was to be due at {dues[0]}")
    return [
        Promise(
            key=Key(job["jobId"], due_at),
            acknowledged_at=answered_at,
            record=record_of(ask.kind),
            hopeless=ask.kind is Kind.HOPELESS,
            sure=sure,
            ordering_key=request.ordering_key,
        )
        for job, dues in zip(jobs, request.dues, strict=True)
        for due_at, sure in fires_of(ask.kind, dues, answered_at)
    ]


def _now() -> int:
    return time.time_ns() // 1_000_000
