"""What the API answers about an execution that waits."""

from __future__ import annotations

from datetime import datetime

from clockwork_client.answers import Answer


class Waiting(Answer):
    """What an execution waits for now. Without `until` nobody knows the end, and `says` tells so."""

    cause: str
    says: str
    until: datetime | None
