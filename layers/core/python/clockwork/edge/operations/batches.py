"""The results of a batch, one for each of its jobs: a bad job does not stop the others."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

import msgspec

from clockwork.domain.errors import (
    ClockworkError,
    InvalidRequest,
    NameTaken,
    Problem,
    RevisionConflict,
    Unreadable,
)
from clockwork.domain.recurrence import Work
from clockwork.edge.http.problems import problem_of
from clockwork.edge.responses.created import (
    CreatedElement,
    CreatedJob,
    Element,
    RefusedElement,
    WrittenElement,
    WrittenJob,
)

log = logging.getLogger(__name__)


def require_work(work: Work, index: int) -> None:
    """Raise InvalidRequest for the batch as a whole if its checks took all work of a request at the job of this index.

    Nothing of the batch is created then. The same batch is refused at the same job, however fast the machine is.
    """
    if work.is_over:
        fix = f"send at most {index} jobs like these in one request" if index else "shorten its expressions and exclude"
        raise InvalidRequest([Problem(f"/jobs/{index}", f"asks for more work than one request may cause: {fix}")])


class Results:
    """The results of one batch. `shown` is the list of the answer, once each job has its result."""

    def __init__(self, count: int) -> None:
        self.shown: list[Element | None] = [None] * count

    def accept(self, index: int, status: HTTPStatus, answer: CreatedJob | WrittenJob) -> None:
        """Set the result of a job that was created, or was there already."""
        element = CreatedElement if isinstance(answer, CreatedJob) else WrittenElement
        self.shown[index] = element.like(index=index, status=int(status), **msgspec.structs.asdict(answer))

    @contextmanager
    def refusing(self, index: int) -> Iterator[None]:
        """A fault of this job raised meanwhile becomes its result, with pointers that start at the batch's body.

        A stored job under its jobKey that cannot be read becomes its result as well.
        """
        try:
            yield
        except (InvalidRequest, NameTaken, RevisionConflict) as fault:
            self._refuse(index, fault)
        except Unreadable as fault:
            log.error("a job of a batch is refused: %s", fault, extra={"action": "stored_job_unreadable"})
            self._refuse(index, fault)

    def _refuse(self, index: int, fault: ClockworkError) -> None:
        problem = problem_of(fault, f"/jobs/{index}")
        self.shown[index] = RefusedElement.like(problem, index=index, problem=problem)
