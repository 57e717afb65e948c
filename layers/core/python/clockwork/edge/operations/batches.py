"""The results of a batch, one for each of its jobs: a bad one does not stop the others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

from clockwork.domain.errors import InvalidRequest, NameTaken, RevisionConflict
from clockwork.edge.http.problems import problem_of


class Results:
    """`shown` is the answer's list."""

    def __init__(self, count: int) -> None:
        self.shown: list[dict[str, Any]] = [{"index": index} for index in range(count)]

    def accept(self, index: int, status: HTTPStatus, answer: dict[str, Any]) -> None:
        """The job is there."""
        self.shown[index] |= {"status": int(status)} | answer

    @contextmanager
    def refusing(self, index: int) -> Iterator[None]:
        """What is wrong with this job alone becomes its result; pointers start at the batch's body."""
        try:
            yield
        except (InvalidRequest, NameTaken, RevisionConflict) as fault:
            problem = problem_of(fault, f"/jobs/{index}")
            self.shown[index] |= {"status": problem["status"], "problem": problem}
