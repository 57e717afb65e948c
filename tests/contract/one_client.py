"""The clients of one service, for transports: whatever the role, a transport gets the same client."""

from __future__ import annotations

from typing import Any


class OneClient:
    """`service_attempts.ServiceClients` that always hand out the same client, and keep the arguments of each call."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.asked: list[tuple[str, str | None, str]] = []

    def client(self, service: str, role_arn: str | None, client_id: str, deadline_at: int) -> Any:
        self.asked.append((service, role_arn, client_id))
        return self._client
