"""The bodies of answers about clients."""

from __future__ import annotations

from typing import Annotated, Self

from msgspec import Meta

from clockwork.domain.clients import Client
from clockwork.edge.http.answer import AnswerBody, Instant, instant, one_of
from clockwork.edge.responses.targets import Record, ShownPrecision, ShownRetryPolicy, shown_policy


class ShownClient(AnswerBody):
    """A client as an admin wrote it."""

    client_id: str
    revision: Annotated[int, Meta(description="how many times it was written; a change may name it, as If-Match")]
    state: Annotated[str, one_of(["ACTIVE", "PAUSED", "DELETING"])]
    principals: tuple[str, ...]
    record: Record
    signing_secrets: tuple[str, ...]
    allowed_queue_arns: tuple[str, ...]
    allowed_topics: tuple[str, ...]
    allowed_private_targets: tuple[str, ...]
    allowed_target_hosts: tuple[str, ...]
    allowed_target_arns: tuple[str, ...]
    allowed_pools: tuple[str, ...]
    min_interval_seconds: float
    runs_index: bool
    retry_policy: ShownRetryPolicy | None = None
    relevancy_window_seconds: float | None = None
    precision: ShownPrecision | None = None
    max_rate_per_second: float | None = None
    max_concurrency: int | None = None
    creates_per_second: float | None = None
    jobs_per_day: int | None = None
    retention_days: int | None = None
    dead_letter_queue_arn: str | None = None
    runs_indexed_from: Annotated[Instant | None, Meta(description="what ends from then on is in the index")] = None
    reason: Annotated[str | None, Meta(description="why it is paused")] = None

    @classmethod
    def of(cls, client: Client) -> Self:
        """The client as it is kept."""
        state, policy = "PAUSED" if client.paused else "ACTIVE", shown_policy(client.retry_policy)
        state = state if client.deleting_at is None else "DELETING"
        indexed_from = instant(client.runs_indexed_from)
        return cls.like(
            client, state=state, reason=client.pause_reason, retry_policy=policy, runs_indexed_from=indexed_from
        )


class Unparking(AnswerBody):
    """Parked occurrences will be released at this rate."""

    client_id: str
    max_per_second: float


class Discarding(AnswerBody):
    """That parked occurrences will end undelivered."""

    client_id: str
