"""Values that the commands share: the settings of the client, the client itself, and the form of the output."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clockwork_client.calls import Machine, Unanswered
    from clockwork_client.client import Clockwork


class State:
    """Values that the commands share. `settings` go to the client unchanged."""

    def __init__(self, **settings: Any) -> None:
        self.settings = settings
        self.output = "table"
        self._client: Clockwork | None = None

    @property
    def cw(self) -> Clockwork:
        """The client, made when a command first needs it, so that help needs no URL."""
        if self._client is None:
            from clockwork_client.client import Clockwork

            self._client = Clockwork(**self.settings)
        return self._client

    @property
    def unanswered(self) -> Unanswered | None:
        """The call that was interrupted before its answer came, if it may have changed something."""
        return None if self._client is None else self._client.unanswered

    @property
    def is_json(self) -> bool:
        """Whether the answer goes to a program."""
        return self.output in ("json", "jsonl")

    @property
    def is_wide(self) -> bool:
        """Whether a table shows all that it can, however wide."""
        return self.output == "wide"

    @property
    def machine(self) -> Machine:
        """The clock and the pauses of this machine."""
        from clockwork_client.calls import Machine

        return self.settings.get("machine") or Machine()

    @property
    def now(self) -> datetime:
        """The instant from which distances in time are shown."""
        return datetime.now(timezone.utc)
