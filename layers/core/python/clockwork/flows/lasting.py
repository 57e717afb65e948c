"""Records that last: whoever writes one, it is kept for as long as a row or a message may name its execution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clockwork.domain.executions import Execution
from clockwork.domain.retention import Retention
from clockwork.ports import Clock, Executions, Saved


class LastingExecutions:
    """`ports.Executions` whose saves raise the `expires_at` of each record to what the law asks (`Retention.kept`).

    All other calls pass through.
    """

    def __init__(self, inner: Executions, clock: Clock, retention: Retention) -> None:
        self._inner = inner
        self._clock = clock
        self._retention = retention

    def save(self, changes: Sequence[tuple[Execution | None, Execution]]) -> Sequence[Saved]:
        """Save each change, with the record as it is to be kept."""
        now = self._clock.now()
        return self._inner.save([(before, self._retention.kept(before, after, now)) for before, after in changes])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)
