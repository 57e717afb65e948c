"""The operations of the workers of pools: they claim, send heartbeats, and tell how their attempts ended."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus

from clockwork.domain.pools.pool import Pool
from clockwork.edge.http.body import SINGLE_BYTES, read_body
from clockwork.edge.http.request import Request
from clockwork.edge.http.validation import validate
from clockwork.edge.operations.base import Answer, Operations
from clockwork.edge.requests.reports import encoded
from clockwork.edge.requests.workers import CLAIMS_BYTES, BeatsBody, CheckpointBody, ClaimsBody, OutcomesBody
from clockwork.edge.responses.workers import (
    BeatAnswer,
    BeatAnswers,
    ClaimAnswer,
    ClaimAnswers,
    OutcomeAnswer,
    OutcomeAnswers,
)
from clockwork.flows.pools.access import worked_by
from clockwork.flows.pools.checkpoints import keep_checkpoint
from clockwork.flows.pools.claim import claim_for
from clockwork.flows.pools.presence import forget_ended, note_beats, note_claims
from clockwork.flows.pools.reports import Taken, beat_all, report_all
from clockwork.flows.pools.sharing import Sharing


class WorkerApi(Operations):
    """The operations of the workers of a pool."""

    def claim_tickets(self, request: Request) -> Answer:
        """POST /v1/pools/{pool}/claims."""
        pool = self._pool(request)
        body = validate(ClaimsBody, read_body(request.event, CLAIMS_BYTES), self._checks(request))
        deadline_at = self.world.clock.now() + self.world.settings.api_timeout_seconds * 1000
        asked = [one.to_asked() for one in body.claims]
        sharing = None if body.slots is None else Sharing(body.worker_id, body.slots.count, body.slots.held)
        claimed = claim_for(self.world, pool, body.worker_id, body.handlers, asked, deadline_at, sharing)
        note_claims(self.world, pool, claimed)
        starts = [one.start for one in claimed if one.start is not None]
        if starts:
            self.count({"TimeToStartMs": [max(0, start.now - start.release.run_at) for start in starts]})
        return HTTPStatus.OK, ClaimAnswers([ClaimAnswer.of(one) for one in claimed])

    def beat_attempts(self, request: Request) -> Answer:
        """POST /v1/pools/{pool}/heartbeats."""
        pool = self._pool(request)
        body = validate(BeatsBody, read_body(request.event, SINGLE_BYTES), self._checks(request))
        taken = beat_all(self.world, pool, [one.to_beat() for one in body.heartbeats], self.intake.reading)
        note_beats(self.world, pool, taken)
        self._count_stale(taken)
        now = self.world.clock.now()
        return HTTPStatus.OK, BeatAnswers([BeatAnswer.of(one, now) for one in taken])

    def report_outcomes(self, request: Request) -> Answer:
        """POST /v1/pools/{pool}/outcomes."""
        pool = self._pool(request)
        body = validate(OutcomesBody, read_body(request.event, SINGLE_BYTES), self._checks(request))
        taken = report_all(self.world, pool, [one.to_ended() for one in body.outcomes], self.intake.reading)
        forget_ended(self.world, pool, taken)
        self._count_stale(taken)
        return HTTPStatus.OK, OutcomeAnswers([OutcomeAnswer.of(one) for one in taken])

    def keep_checkpoint(self, request: Request) -> Answer:
        """POST /v1/pools/{pool}/checkpoints."""
        pool = self._pool(request)
        body = validate(CheckpointBody, read_body(request.event, SINGLE_BYTES), self._checks(request))
        value, reading = encoded(body.value), self.intake.reading
        taken = keep_checkpoint(self.world, pool, body.token, body.sequence, value, reading)
        self._count_stale([taken])
        return HTTPStatus.OK, OutcomeAnswer.of(taken)

    def _count_stale(self, taken: Sequence[Taken]) -> None:
        if stale := sum(one.is_stale for one in taken):
            self.count({"StaleTokens": stale})

    def _pool(self, request: Request) -> Pool:
        return worked_by(self.world, request.caller, request.path["pool"])
