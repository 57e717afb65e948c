"""Sends a load to the API as a careful client does: it repeats each request, unchanged, until it is answered."""

from __future__ import annotations

import itertools
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

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


class Timed(Protocol):
    """Anything that is asked for at a time of the load."""

    @property
    def offset_ms(self) -> int:
        """When, after the load begins."""


A = TypeVar("A", bound=Timed)


class Failure(NamedTuple):
    """A try at a request that had no success, at an instant (epoch ms)."""

    at: int
    what: str


class Patient(ABC, Generic[A]):
    """Sends one client's requests. `promises` come from answered ones, `failures` are tries without success."""

    def __init__(self, api: SignedApi, client_id: str, run: str) -> None:
        self._api = api
        self._client_id = client_id
        self._run = run
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._promises: list[Promise] = []
        self._under_way = 0
        self._failures: list[Failure] = []

    @abstractmethod
    def promised(self, ask: A, name: str) -> list[Promise]:
        """Send one request, by this name, and return what was promised. Called in a thread of its own."""

    @property
    def failures(self) -> list[Failure]:
        """All tries without success so far."""
        with self._lock:
            return list(self._failures)

    @property
    def repeats(self) -> int:
        """How many tries had no success."""
        return len(self.failures)

    @property
    def promises(self) -> list[Promise]:
        """All promises so far."""
        with self._lock:
            return list(self._promises)

    def send(self, asks: Iterable[A]) -> None:
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

    def create(self, request: Request, name: str) -> dict[str, Any]:
        """Send a create until it is answered, under a key that its repeats share."""
        body = {"clientId": self._client_id, **request.body}
        key = {} if "jobKey" in body else {"Idempotency-Key": name}
        return self.until_answered("POST", request.path, body, key)

    def cancel(self, promise: Promise) -> Promise:
        """Cancel the job of a promise; the promise with the answer."""
        said = self.until_answered("DELETE", f"/v1/jobs/{promise.key.job_id}", None, {})
        return replace(promise, cancel=said["result"])

    def _ask(self, ask: A) -> None:
        promises = self.promised(ask, f"{self._run}-{next(self._numbers)}")
        with self._lock:
            self._promises += promises

    def until_answered(self, method: str, path: str, body: Any, headers: dict[str, str]) -> dict[str, Any]:
        """Repeat a request, unchanged, until it is answered with success. Raises Refused."""
        give_up_at = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < give_up_at and not self._stopped.is_set():
            answer = self._once(method, path, body, headers)
            if answer is not None and answer.status < 300:
                return dict(answer.body)
            if answer is not None and answer.status < 500 and answer.status != 429:
                raise Refused(f"{method} {path}: {answer.status} {answer.body}")
            with self._lock:
                self._failures.append(Failure(_now(), f"{answer.status}" if answer else "no answer"))
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


class Sender(Patient[Ask]):
    """Sends the load of chaos and soak."""

    def __init__(self, api: SignedApi, client_id: str, url: str, run: str) -> None:
        super().__init__(api, client_id, run)
        self._url = url

    def promised(self, ask: Ask, name: str) -> list[Promise]:
        """Send one request, and cancel its job if it is of that kind."""
        request = request_of(ask, self._url, name, _now())
        promises = _promises_of(ask, request, self.create(request, name), _now())
        return [self.cancel(promises[0])] if ask.kind is Kind.CANCELLED else promises


def _promises_of(ask: Ask, request: Request, answer: dict[str, Any], answered_at: int) -> list[Promise]:
    """The promises of an answer. Raises Refused."""
    return [
        Promise(
            key=Key(job_id, due_at),
            acknowledged_at=answered_at,
            record=record_of(ask.kind),
            hopeless=ask.kind is Kind.HOPELESS,
            sure=sure,
            ordering_key=request.ordering_key,
        )
        for job_id, dues in zip(accepted_by(answer, request), request.dues, strict=True)
        for due_at, sure in fires_of(ask.kind, dues, answered_at)
    ]


def accepted_by(answer: dict[str, Any], request: Request) -> list[str]:
    """The ids of its jobs. Raises Refused unless every job was accepted for the instant that it asked for."""
    jobs = answer.get("results", [answer])
    for job, dues in zip(jobs, request.dues, strict=True):
        if "jobId" not in job or ("dueAt" in job and from_text(job["dueAt"]) != dues[0]):
            raise Refused(f"{request.path}: {job}, but it was to be due at {dues[0]}")
    return [job["jobId"] for job in jobs]


def _now() -> int:
    return time.time_ns() // 1_000_000
