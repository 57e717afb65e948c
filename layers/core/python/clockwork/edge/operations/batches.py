"""The results of a batch, one for each of its jobs: a bad one does not stop the others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

import msgspec

from clockwork.domain.errors import InvalidRequest, NameTaken, RevisionConflict
from clockwork.edge.http.problems import problem_of
from clockwork.edge.responses.jobs import CreatedElement, CreatedJob, Element, RefusedElement, WrittenElement
from clockwork.edge.responses.named_jobs import WrittenJob


class Results:
    """`shown` is the answer's list, once there is a result for each job."""

    def __init__(self, count: int) -> None:
        self.shown: list[Element | None] = [None] * count

    def accept(self, index: int, status: HTTPStatus, answer: CreatedJob | WrittenJob) -> None:
        """The job is there."""
        element = CreatedElement if isinstance(answer, CreatedJob) else WrittenElement
        self.shown[index] = element.like(index=index, status=int(status), **msgspec.structs.asdict(answer))

    @contextmanager
    def refusing(self, index: int) -> Iterator[None]:
        """What is wrong with this job alone becomes its result; pointers start at the batch's body."""
        try:
            yield
        except (InvalidRequest, NameTaken, RevisionConflict) as fault:
            problem = problem_of(fault, f"/jobs/{index}")
            self.shown[index] = RefusedElement.like(problem, index=index, problem=problem)
