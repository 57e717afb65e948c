"""Sends the load of a smoke, and remembers of which kind each promise is."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from local.api import SignedApi
from tests.chaos.load import Kind as Target
from tests.chaos.load import Request, fires_of
from tests.chaos.promises import Key, Promise
from tests.chaos.sender import Patient, accepted_by
from tests.smoke.plan import Ask, Kind, request_of


class Sender(Patient[Ask]):
    """Sends to webhooks below `url` and to `targets`, the bodies of targets by kind. `kinds` are those of promises."""

    def __init__(
        self, api: SignedApi, client_id: str, url: str, targets: Mapping[Kind, Mapping[str, Any]], run: str
    ) -> None:
        super().__init__(api, client_id, run)
        self._url = url
        self._targets = targets
        self.kinds: dict[Key, Kind] = {}

    def promised(self, ask: Ask, name: str) -> list[Promise]:
        """Send one request, and cancel its job if it is of that kind. Raises Refused."""
        request = request_of(ask, self._url, self._targets, name, _now())
        promises = promises_of(ask, request, self.create(request, name), _now())
        self.kinds.update(dict.fromkeys([promise.key for promise in promises], ask.kind))
        return [self.cancel(promises[0])] if ask.kind is Kind.CANCELLED else promises


def promises_of(ask: Ask, request: Request, answer: dict[str, Any], answered_at: int) -> list[Promise]:
    """The promises of an answer. Raises Refused."""
    recurs = Target.RECURRING if ask.kind is Kind.CRON else Target.FULL
    return [
        Promise(
            key=Key(job_id, due_at),
            acknowledged_at=answered_at,
            record=ask.record,
            sure=sure,
            ordering_key=request.ordering_key,
        )
        for job_id, dues in zip(accepted_by(answer, request), request.dues, strict=True)
        for due_at, sure in fires_of(recurs, dues, answered_at)
    ]


def _now() -> int:
    return time.time_ns() // 1_000_000
