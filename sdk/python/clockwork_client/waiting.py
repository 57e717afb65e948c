"""Answers of the API about an execution that waits."""

from __future__ import annotations

from datetime import datetime

from clockwork_client.answers import Answer


class Waiting(Answer):
    """The cause of an execution's present wait. Without `until` the end is unknown, and `says` tells so."""

    cause: str
    says: str
    until: datetime | None
