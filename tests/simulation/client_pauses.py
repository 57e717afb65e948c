"""Judges what becomes of a recurring job's fires that were due in a pause of its client: what `catchUp` says.

A fire is judged when a deliverer has it, by the job and by the client's pauses as they stand then. Any row of the job
that was in force within an invocation may therefore have decided.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from clockwork.domain.clients import Client, Pause
from tests.simulation.named_history import Event

#: Pauses that have ended, as a client's row keeps them.
Pauses = Sequence[Pause]
#: The reason in the record of a fire that was due in a pause of its client and ends undelivered.
MISSED = "missed in a pause of its client"


@dataclass
class ClientPauses:
    """The pauses of all clients, and since when (ms, true time) each client's row tells them."""

    #: State that an invocation read is at most this old (ms) while the invocation runs.
    invocation_ms: int
    _known: defaultdict[str, list[tuple[int, Pauses]]] = field(default_factory=lambda: defaultdict(list))

    def changed(self, client: Client, now: int) -> None:
        """Notes a client's row that was just saved."""
        known = self._known[client.client_id]
        if not known or known[-1][1] != client.pauses:
            known.append((now, client.pauses))

    def start_objection(self, client_id: str, due_at: int, rows: Iterable[Event], now: int) -> str | None:
        """Why a first attempt must not start now; None if by one of the rows in force `catchUp` wants it.

        `rows`: the events whose rows were in force within the invocation that starts it.
        """
        pauses = list(self._in_force(client_id, now - self.invocation_ms))
        if any(is_wanted(event, over(known, due_at), due_at) for event in rows for known in pauses or [()]):
            return None
        return "it was due in a pause of its client, and catchUp does not want it"

    def skip_objection(self, client_id: str, due_at: int, events: Iterable[Event]) -> str | None:
        """Why a fire must not end as missed in a pause of its client; None if it may.

        `events`: those whose rows were in force since its pause ended. The flow that decides may have been frozen
        since.
        """
        ended = {pause for _, known in self._known[client_id] if (pause := over(known, due_at)) is not None}
        if not ended:
            return "it ends as missed in a pause of its client, and was due in none"
        if any(not is_wanted(event, pause, due_at) for event in events for pause in ended):
            return None
        return "it ends as missed in a pause of its client, and catchUp wants it"

    def ended_at(self, client_id: str, due_at: int) -> int:
        """When (ms, true time) the pause ended in which an instant lies; 0 if it lies in none."""
        return next((at for at, known in self._known[client_id] if over(known, due_at) is not None), 0)

    def _in_force(self, client_id: str, since: int) -> Iterator[Pauses]:
        """The pauses as the client's rows told them from an instant on."""
        known = self._known[client_id]
        for number, (_, pauses) in enumerate(known):
            if number + 1 == len(known) or known[number + 1][0] >= since:
                yield pauses


def over(pauses: Pauses, due_at: int) -> Pause | None:
    """The pause in which an instant lies."""
    return next((one for one in pauses if one.began_at < due_at <= one.ended_at), None)


def is_wanted(event: Event, pause: Pause | None, due_at: int) -> bool:
    """Whether a job, as it is behind an event, wants a fire that was due in this pause of its client."""
    definition = event.row.definition
    if pause is None or definition.recurrence is None:
        return True
    if definition.catch_up == "none":
        return False
    window_at = pause.ended_at - int(definition.catch_up_window_seconds * 1000)
    known = [at for at in event.fires.due.values() if at <= pause.ended_at]
    if definition.catch_up == "latest" and known:
        # Behind a schedule that was replaced since nobody knows which fire was the last one.
        return due_at == max(known) and due_at >= window_at
    return due_at >= window_at
