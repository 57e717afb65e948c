"""The operation on the fires to come of one job."""

from __future__ import annotations

import re
from contextlib import suppress
from http import HTTPStatus
from itertools import islice

from clockwork.domain.errors import InvalidRequest, JobNotFound, Problem
from clockwork.domain.recurrence import Fire, TooMuchWork, Work
from clockwork.edge.http.request import Request, in_query
from clockwork.edge.operations.base import Answer, Operations
from clockwork.edge.responses.fires import JobFires
from clockwork.edge.responses.named_jobs import upcoming
from clockwork.flows import access

#: The fires of an answer: at most, and if the query does not say how many.
MOST_FIRES, FIRES = 1_000, 100
#: The work that one answer may cause, as much as that of a preview.
_WORK = 800_000


class FiresApi(Operations):
    """The fires to come, by one Lambda environment."""

    def list_fires(self, request: Request) -> Answer:
        """GET /v1/jobs/{jobId}/fires: reads one row. The rest is computed, and pays as a preview does."""
        caller = access.require_known(self.world, request.caller)
        self._looking_at(request, caller, request.path["jobId"])
        (from_at,), count = request.instants("from"), _count(request)
        job = access.get_named(self.world, caller, request.path["jobId"])
        client = self.world.clients.get(job.client_id)
        if not job.is_alive or client is None:
            raise JobNotFound(job.job_id)
        self.intake.admit_preview(self.world, [] if request.caller.is_admin else [client])
        now = self.world.clock.now()
        begin, work, found = max(now, now if from_at is None else from_at - 1), Work(_WORK), list[Fire]()
        with suppress(TooMuchWork):
            found.extend(islice(upcoming(job, begin, work), count))
        return HTTPStatus.OK, JobFires.of(job, found, more=len(found) == count or work.is_over)


def _count(request: Request) -> int:
    """How many fires are wanted, by the query parameter `count`. Raises InvalidRequest."""
    text = request.query.get("count", str(FIRES))
    if not re.fullmatch(r"[0-9]{1,9}", text) or not 1 <= int(text) <= MOST_FIRES:
        raise InvalidRequest([Problem(in_query("count"), f"the query parameter count must be 1-{MOST_FIRES}")])
    return int(text)
