"""Rejected messages in a list."""

from __future__ import annotations

from collections.abc import Sequence

from clockwork.domain.requests.create import Rejected
from clockwork.ports import Refused


class MemoryRejects:
    """`flows.requests.ingest.Rejects` in plain Python."""

    def __init__(self) -> None:
        self.rejected: list[Rejected] = []

    def send(self, rejected: Sequence[Rejected]) -> Sequence[Refused]:
        self.rejected += rejected
        return ()
