"""The judge of deleted clients: nothing of them starts, and whoever has the id anew is another client."""

from __future__ import annotations

from clockwork.domain.clients import DELETED, Client
from clockwork.domain.executions import Execution


class Departures:
    """When each client was deleted, and since when another one has its id (ms, true time)."""

    def __init__(self, invocation_ms: int) -> None:
        #: An invocation that began before a change may go by the client as it was, for so long (ms).
        self._invocation_ms = invocation_ms
        self._deleted_at: dict[str, int] = {}
        self._returned_at: dict[str, int] = {}

    def changed(self, client: Client, now: int) -> None:
        """Notes a client as it is stored from `now` (ms) on."""
        if client.deleting_at is not None:
            if client.client_id in self._returned_at or client.client_id not in self._deleted_at:
                self._deleted_at[client.client_id] = now
            self._returned_at.pop(client.client_id, None)
        elif client.client_id in self._deleted_at:
            self._returned_at.setdefault(client.client_id, now)

    def has_returned(self, client_id: str) -> bool:
        """Whether another client has the id of one that was deleted."""
        return client_id in self._returned_at

    def is_of_before(self, client_id: str, promised_at: int) -> bool:
        """Whether what a client was promised at an instant is of one that was deleted since."""
        deleted_at = self._deleted_at.get(client_id)
        return deleted_at is not None and promised_at < deleted_at

    def start_objection(self, client_id: str, promised_at: int | None, now: int) -> str | None:
        """Why an attempt must not begin now, or None. `promised_at`: when its job was acknowledged, if it was."""
        deleted_at, began_at = self._deleted_at.get(client_id), now - self._invocation_ms
        if deleted_at is None or deleted_at >= began_at:
            return None
        if client_id not in self._returned_at:
            return "an attempt begins though its client was deleted"
        if promised_at is not None and self.is_of_before(client_id, promised_at):
            return "an attempt begins of a client that was deleted, and whose id another one has"
        return None

    def end_objection(self, record: Execution, promised_at: int | None) -> str | None:
        """Why an execution must not end as of a deleted client, or None."""
        if record.reason != DELETED:
            return None
        if record.client_id not in self._deleted_at:
            return "it ends as of a deleted client, and nobody deleted it"
        returned_at = self._returned_at.get(record.client_id)
        # No call lasts from before a delete until the id is free again.
        if returned_at is not None and promised_at is not None and promised_at > returned_at:
            return "it ends as of a deleted client, and was promised to the one that has the id now"
        return None
