"""The clients of one service, as transports ask for them: a role makes no difference."""

from __future__ import annotations

from typing import Any


class OneClient:
    """`service_attempts.ServiceClients` that always hand out the same client and note what they were asked for."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.asked: list[tuple[str, str | None, str]] = []

    def client(self, service: str, role_arn: str | None, client_id: str) -> Any:
        self.asked.append((service, role_arn, client_id))
        return self._client
