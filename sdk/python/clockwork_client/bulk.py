"""Create many jobs in batches: few requests at once, a result for each job, and safe to start again.

Batch n is sent under the Idempotency-Key `<key>-<n>`. The jobs alone decide where a batch ends. A second run with the
same key and the same jobs, within 24 hours, therefore creates no job twice, wherever the first run ended.
"""

from __future__ import annotations

import json
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

from clockwork_client.calls import Caller
from clockwork_client.errors import (
    REFUSALS,
    ClockworkError,
    Fault,
    Refused,
    TooLarge,
    UnexpectedAnswer,
)
from clockwork_client.results import Job

#: The most jobs and bytes of one request. The bytes leave room for the text around the jobs.
MOST_JOBS, MOST_BYTES = 500, 3_000_000 - 4096


class Created(NamedTuple):
    """The result of one job: `job`, or else `error`. `position` counts from 0 in the order given."""

    position: int
    job: Job | None
    error: Refused | None


class Stopped(ClockworkError):
    """A whole batch failed, so no further one was sent. `__cause__` says why.

    `done` jobs have had their result. Call `schedule_many` again with all the same jobs and `key=` this `key`.
    """

    def __init__(self, key: str, done: int, cause: Exception) -> None:
        super().__init__(f"stopped after {done:,} jobs: {cause}\nrepeat with the same jobs and key={key!r}")
        self.key = key
        self.done = done

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.key, self.done, self.__cause__)


class Batch(NamedTuple):
    """Jobs of one request: `first` is the index of the first one."""

    number: int
    first: int
    jobs: list[Mapping[str, Any]]


class Bulk:
    """The results of all jobs, in their order. The iteration takes and sends the jobs; nothing is sent before."""

    def __init__(
        self,
        caller: Caller,
        jobs: Iterable[Mapping[str, Any]],
        client_id: str | None,
        key: str,
        parallel: int,
        deadline: float,
    ) -> None:
        if parallel < 1:
            raise ValueError("parallel must be at least 1")
        self.key = key
        self._caller = caller
        self._batches = batches(jobs)
        self._client_id = client_id
        self._parallel = parallel
        self._deadline = deadline
        self._was_begun = False

    def __iter__(self) -> Iterator[Created]:
        if self._was_begun:
            raise RuntimeError("these jobs were sent already: keep the results of the first time")
        self._was_begun = True
        return self._results()

    def __del__(self) -> None:
        if not getattr(self, "_was_begun", True):
            warnings.warn("schedule_many was never iterated over: no job was sent", RuntimeWarning, stacklevel=2)

    def _results(self) -> Iterator[Created]:
        under_way: deque[tuple[Batch, Future[Any]]] = deque()
        with ThreadPoolExecutor(self._parallel, "clockwork-batch") as threads:
            for batch in self._batches:
                under_way.append((batch, threads.submit(self._send, batch)))
                if len(under_way) >= self._parallel:
                    yield from self._finished(*under_way.popleft())
            while under_way:
                yield from self._finished(*under_way.popleft())

    def _send(self, batch: Batch) -> Any:
        body: dict[str, Any] = {"jobs": batch.jobs}
        if self._client_id is not None:
            body["clientId"] = self._client_id
        key = f"{self.key}-{batch.number}"
        return self._caller.call("POST", "/v1/jobs/batch", body, key=key, deadline=self._deadline)

    def _finished(self, batch: Batch, answer: Future[Any]) -> list[Created]:
        try:
            return created(batch, answer.result())
        except TooLarge as error:
            if len(batch.jobs) == 1:
                return [Created(batch.first, None, error)]
            raise Stopped(self.key, batch.first, error) from error
        except ClockworkError as error:
            raise Stopped(self.key, batch.first, error) from error


def batches(jobs: Iterable[Mapping[str, Any]]) -> Iterator[Batch]:
    """The jobs in batches that one request can hold. A job that is too large for any batch has a batch of its own."""
    number, first, size, chunk = 0, 0, 0, list[Mapping[str, Any]]()
    for job in jobs:
        bytes_of_job = len(json.dumps(job, ensure_ascii=False).encode())
        if chunk and (len(chunk) == MOST_JOBS or size + bytes_of_job > MOST_BYTES):
            yield Batch(number, first, chunk)
            number, first, size, chunk = number + 1, first + len(chunk), 0, []
        chunk.append(job)
        size += bytes_of_job
    if chunk:
        yield Batch(number, first, chunk)


def created(batch: Batch, answer: Any) -> list[Created]:
    """The results of a batch. Raises UnexpectedAnswer unless there is one for each job."""
    listed = answer.get("results") if isinstance(answer, dict) else None
    if not isinstance(listed, list) or [_index(one) for one in listed] != list(range(len(batch.jobs))):
        raise UnexpectedAnswer("the answer does not have one result for each job of the batch")
    return [_created(batch.first + place, one, f"/jobs/{place}") for place, one in enumerate(listed)]


def _created(position: int, element: Mapping[str, Any], pointer: str) -> Created:
    status = element.get("status")
    if status in (200, 201):
        return Created(position, Job(element), None)
    problem = element.get("problem")
    if not isinstance(status, int) or not isinstance(problem, dict):
        raise UnexpectedAnswer("a result of a batch has neither job nor problem")
    listed = problem.get("errors")
    faults = tuple(
        Fault(str(one.get("pointer", "")).removeprefix(pointer), str(one.get("detail", "")))
        for one in (listed if isinstance(listed, list) else ())
        if isinstance(one, dict)
    )
    kind: Callable[..., Refused] = REFUSALS.get(status, Refused)
    return Created(position, None, kind(status, str(problem.get("detail", "")), faults, problem))


def _index(element: object) -> object:
    return element.get("index") if isinstance(element, dict) else None
