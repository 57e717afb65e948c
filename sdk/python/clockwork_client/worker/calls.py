"""The calls of a worker: claims and outcomes by ten, heartbeats by a hundred, checkpoints one by one.

An answer about one item never stands for the others. A call without a certain answer raises: the caller asks again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from clockwork_client.calls import segment
from clockwork_client.errors import Refused, UnexpectedAnswer
from clockwork_client.worker.attempt import Attempt, Checkpoint, Lost

if TYPE_CHECKING:
    from clockwork_client.calls import Caller

#: The most claims, outcomes and heartbeats of one call.
MOST_CLAIMS = MOST_OUTCOMES = 10
MOST_BEATS = 100
#: For so long (s) a worker asks for the tickets in its hand; less than they are hidden from others.
CLAIM_SECONDS = 45.0
OUTCOME_SECONDS = 20.0
CHECKPOINT_SECONDS = 20.0


class Calls:
    """The routes of the workers of one pool."""

    def __init__(self, caller: Caller, pool: str) -> None:
        self._caller = caller
        self._path = f"/v1/pools/{segment(pool)}"
        self._knows_overflow = True

    def claim(
        self,
        worker_id: str,
        handlers: Sequence[str],
        claims: Sequence[Mapping[str, str]],
        slots: Mapping[str, Any] | None = None,
    ) -> list[Any]:
        """Claim tickets. The same claims may be repeated: the API answers `start` to them again.

        `slots`: how many attempts the worker runs at once, and how many it has of each client. Only a worker tells that
        receives from overflow queues, too.
        """
        body = {"workerId": worker_id, "handlers": list(handlers), "claims": list(claims)}
        if slots is not None and self._knows_overflow:
            try:
                return self._all("claims", {**body, "slots": slots}, len(claims), CLAIM_SECONDS)
            except Refused as error:
                if not any(one.pointer.startswith("/slots") for one in error.faults):
                    raise
                # A deployment went back to a version without overflow queues, while this worker goes on.
                self._knows_overflow = False
        return self._all("claims", body, len(claims), CLAIM_SECONDS)

    def beat(self, beats: Sequence[Mapping[str, Any]], seconds: float) -> list[Any]:
        """Renew claims; the answers are in the order of the heartbeats."""
        return self._all("heartbeats", {"heartbeats": list(beats)}, len(beats), seconds)

    def report(self, outcomes: Sequence[Mapping[str, Any]]) -> list[Any]:
        """Tell how attempts ended; the answers are in the order of the outcomes."""
        return self._all("outcomes", {"outcomes": list(outcomes)}, len(outcomes), OUTCOME_SECONDS)

    def keep(self, attempt: Attempt, checkpoint: Checkpoint) -> None:
        """Store a checkpoint. Raises Lost if the claim is over."""
        body = {"token": attempt.token, "sequence": checkpoint.sequence, "value": checkpoint.value}
        answer = self._caller.call("POST", f"{self._path}/checkpoints", body, deadline=CHECKPOINT_SECONDS)
        outcome = answer.get("outcome") if isinstance(answer, dict) else None
        if outcome == "stale":
            attempt.end("the API says that the claim is over")
            raise Lost(attempt.over)
        if outcome != "ok":
            raise UnexpectedAnswer("the answer does not say whether the checkpoint is kept")

    def _all(self, what: str, body: Mapping[str, Any], count: int, seconds: float) -> list[Any]:
        answer = self._caller.call("POST", f"{self._path}/{what}", body, deadline=seconds)
        found = answer.get(what) if isinstance(answer, dict) else None
        if not isinstance(found, list) or len(found) != count or not all(isinstance(one, dict) for one in found):
            raise UnexpectedAnswer(f"the answer does not have {count} {what}")
        return found
