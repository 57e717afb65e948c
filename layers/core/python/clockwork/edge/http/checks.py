"""The context of a validation, and the faults that it finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec

from clockwork.domain.clients import Client
from clockwork.domain.errors import InvalidRequest, Problem
from clockwork.domain.pools.pool import Pool
from clockwork.domain.recurrence import TooMuchWork, Work
from clockwork.settings import Settings

#: The most faults of a request that are listed. A request with more is nothing that this operation takes.
MOST_FAULTS = 100
#: The most unknown names of a request that are compared with the known ones, of a batch altogether.
MOST_COMPARED = 100
#: The most characters of a name that a pointer shows.
LONGEST_NAME = 256
#: The checks of one request's URLs and schedules may cost so much (units of about a microsecond).
REQUEST_WORK = 800_000


class Checks(msgspec.Struct):
    """The context of a validation: `now` (ms), the settings and the client, and the faults that checks report.

    A check reports a fault here, instead of raising ValueError, if the fault should not hide others.
    """

    now: int
    settings: Settings
    client: Client | None = None
    problems: list[Problem] = msgspec.field(default_factory=list)
    #: The pool of a name, as admins have written it; None if nobody has. Raises Unavailable.
    pool_named: Callable[[str], Pool | None] = lambda _: None
    #: The trace context that the targets of the request keep; empty: none.
    traceparent: str = ""
    #: The most work of all URLs and schedules of a request together.
    work: Work = msgspec.field(default_factory=lambda: Work(REQUEST_WORK))
    #: The end of the refusal of each unknown name that was compared with some known ones.
    compared: dict[tuple[str, tuple[str, ...]], str] = msgspec.field(default_factory=dict)

    def spend(self, units: int, pointer: str) -> None:
        """Count work of the request, before it is done. Raises InvalidRequest, at a pointer, once none is left."""
        try:
            self.work.spend(units)
        except TooMuchWork as fault:
            raise InvalidRequest([Problem(pointer, str(fault))]) from None

    def report(self, pointer: str, detail: str, name: str = "") -> None:
        """Add a fault of the request, at a pointer or at the member `name` below it."""
        self.problems.append(Problem(pointer + (pointer_part(name) if name else ""), detail))

    @contextmanager
    def relocated(self, pointer: str, other: str) -> Iterator[None]:
        """Move the faults that are reported meanwhile from below one pointer to below another one."""
        before = len(self.problems)
        try:
            yield
        finally:
            for index, problem in enumerate(self.problems[before:], before):
                self.problems[index] = Problem(other + problem.pointer.removeprefix(pointer), problem.detail)


def pointer_part(name: str | int) -> str:
    """One reference token of a JSON pointer (RFC 6901).

    A name longer than LONGEST_NAME is cut, so that an answer does not grow with the names of a bad request.
    https://www.rfc-editor.org/rfc/rfc6901#section-3
    """
    return "/" + str(name)[:LONGEST_NAME].replace("~", "~0").replace("/", "~1")


def listed(problems: list[Problem], most: int) -> list[Problem]:
    """The faults in the order of their pointers, and how many there are beyond `most`."""
    listed = sorted(problems, key=lambda problem: problem.pointer)
    left = len(listed) - most
    return listed[:most] + ([Problem("", f"has {left:,} more faults")] if left > 0 else [])
