"""Sharing the deliverers: which clients one deliverer environment has met lately, and which of them crowd it.

A client *crowds* while messages of its wait to be taken: a full batch says that, if more than three tenths of it are
the client's. An environment learns all this from the messages that it gets, so that it costs no call.
"""

from __future__ import annotations

from collections.abc import Mapping

#: Messages of a full batch. Lambda hands over fewer when no more are waiting.
FULL_BATCH = 10
#: The share of a full batch above which a client crowds.
CROWDING_SHARE = 0.3
#: The time (ms) after its last message for which a client counts as one that shares.
MET_FOR_MS = 120_000
#: For so long after such a batch (ms) a client crowds.
CROWDS_FOR_MS = 10_000
#: The time (ms) after it was found paused for which a client takes no share: its messages are parked at once.
PAUSED_FOR_MS = 10_000


class Company:
    """The clients that one environment has met lately, each with the instant (ms) at which it was last met."""

    def __init__(self) -> None:
        self._met_at: dict[str, int] = {}
        self._crowded_at: dict[str, int] = {}
        self._paused_at: dict[str, int] = {}

    def note(self, messages: Mapping[str, int], now: int) -> None:
        """Note a batch, by the number of messages of each client. Clients that were met long ago are forgotten."""
        in_all = sum(messages.values())
        _forget(self._paused_at, now - PAUSED_FOR_MS)
        for client_id, count in messages.items():
            if client_id in self._paused_at:
                continue
            _renew(self._met_at, client_id, now)
            if in_all >= FULL_BATCH and count > in_all * CROWDING_SHARE:
                self.note_crowding(client_id, now)
        _forget(self._met_at, now - MET_FOR_MS)
        _forget(self._crowded_at, now - CROWDS_FOR_MS)

    def note_crowding(self, client_id: str, now: int) -> None:
        """Note that messages of the client wait."""
        if client_id not in self._paused_at:
            _renew(self._crowded_at, client_id, now)

    def note_paused(self, client_id: str, now: int) -> None:
        """Note that the client is paused: nobody has to share with it until it was found so for the last time."""
        _renew(self._paused_at, client_id, now)
        self._met_at.pop(client_id, None)
        self._crowded_at.pop(client_id, None)

    def has_others(self, client_id: str) -> bool:
        """Whether any other client was met lately, as of the last note."""
        return len(self._met_at) > (client_id in self._met_at)

    def crowds(self, client_id: str) -> bool:
        """Whether the client crowds, as of the last note."""
        return client_id in self._crowded_at

    def crowding_with(self, client_id: str) -> int:
        """How many clients crowd, as of the last note, counting this one in any case."""
        return len(self._crowded_at.keys() | {client_id})


def _renew(instants: dict[str, int], client_id: str, now: int) -> None:
    """Set the client's instant. The dictionary stays in the order of its instants, since clocks do not go back far."""
    instants.pop(client_id, None)
    instants[client_id] = now


def _forget(instants: dict[str, int], until: int) -> None:
    """Drop the instants up to `until`."""
    while instants and (first := next(iter(instants))) and instants[first] <= until:
        del instants[first]
