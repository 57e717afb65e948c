"""Notices in a list."""

from __future__ import annotations

from clockwork.domain.executions import Execution


class MemoryNotices:
    """`ports.Notices` that remember what was told: the queue's ARN and the execution."""

    def __init__(self) -> None:
        self.told: list[tuple[str, Execution]] = []

    def send(self, queue_arn: str, execution: Execution) -> None:
        self.told.append((queue_arn, execution))
