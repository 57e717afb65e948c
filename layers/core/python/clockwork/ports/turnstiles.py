"""The port of what is kept of the executions of each job with `overlap: skip`."""

from __future__ import annotations

from typing import Protocol

from clockwork.domain.named_jobs import Turnstile


class Turnstiles(Protocol):
    """The turnstiles of named jobs, changed only by compare-and-set."""

    def get(self, job_id: str) -> tuple[Turnstile | None, object]:
        """The turnstile of a job, and what `put` has to find there: None if there is nothing.

        A turnstile that this version cannot read is told in the log, and None: the caller makes another one.
        """

    def put(self, found: object, after: Turnstile) -> bool:
        """Replace what `get` has found. False if something else is stored by now, which stays.

        A turnstile that is stored as it is to be counts as replaced.
        """
