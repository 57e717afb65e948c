"""Reads at a pace: each api environment keeps what clients owe for what it has read for them, and refuses the next.

How it fails. A request that dies in the middle is charged for what it had read. An environment knows only what it read
itself, so the pace is divided by the environments that the API may have. Beyond that number DynamoDB throttles the
client's partition: that, too, is a debt, in each environment that meets it. An environment that ends forgets its debts.
Nothing is written. Of very many debts the smallest are forgotten.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from clockwork.domain.errors import PartitionThrottled, TooManyRequests
from clockwork.domain.requests.reading import API_ENVIRONMENTS, THROTTLED_SECONDS, Debt, Kind, throttled, wait_seconds
from clockwork.flows.world import World

#: The most debts that are kept.
MOST_DEBTS = 10_000
#: Whose pace it is, what counts in it, and what to do about it.
_SAID = {
    Kind.LOOK: ("the client reads", "read units (4 KB)", "ask less often, or for smaller pages"),
    Kind.CHANGE: ("the client asks for changes that change nothing", "read units (4 KB)", "read before asking"),
    Kind.REPORT: ("there are unsigned reports on this job", "read units (4 KB)", "repeat no report that was answered"),
    Kind.ADDRESS: ("unsigned reports come from this address", "of them", "report less often, or signed"),
}


class Reading:
    """The debts of clients for reads in one api environment. Not for several threads."""

    def __init__(self, phase: float = 0.0) -> None:
        #: Drawn by each environment, 0 to 1: those that are asked together must not all let in at one instant.
        self.phase = phase
        self._debts: dict[tuple[str, Kind], Debt] = {}
        #: The payers of the request under way: each is charged for it.
        self._payers: list[tuple[str, Kind]] = []

    def begin(self, world: World) -> None:
        """A request begins."""
        self._payers = []
        world.environment.meter.begin()

    def admit(self, world: World, kind: Kind, client_ids: Sequence[str], *, refuses: bool = True) -> None:
        """Let in the request under way on the account of the first of these clients that has room.

        Not `refuses`: the client pays, and the request is let in all the same. Raises TooManyRequests.
        """
        waits: list[int] = []
        for client_id in client_ids:
            debt = self.debt(world, kind, client_id)
            wait = wait_seconds(debt, kind, share_of(world, kind), self.phase) if refuses else 0
            if not wait:
                self._payers.append((client_id, kind))
                return
            # Kept as of now: a clock that was set back must not hold the client up until it is where it was.
            self._debts[client_id, kind] = msgspec.structs.replace(debt, refused=debt.refused + 1)
            waits.append(wait)
        if waits:
            raise TooManyRequests(_refusal(kind, _environments(world)), min(waits))

    def has_room(self, world: World, kind: Kind, payer: str) -> bool:
        """Whether a payer may cause a read now."""
        return not wait_seconds(self.debt(world, kind, payer), kind, share_of(world, kind), self.phase)

    def charge(self, kind: Kind, payer: str) -> None:
        """Make somebody pay for the request under way who was not asked before."""
        self._payers.append((payer, kind))

    def settle(self, world: World) -> None:
        """The request has ended: its payers are charged for what it has read."""
        units = world.environment.meter.price
        for client_id, kind in self._payers:
            debt = self.debt(world, kind, client_id)
            owed = debt.units + (1 if kind is Kind.ADDRESS else units)
            if owed:
                self._keep(world, (client_id, kind), msgspec.structs.replace(debt, units=owed))

    def throttled(self, world: World, error: PartitionThrottled) -> Exception:
        """DynamoDB throttles what the request under way reads: what to raise, and the client's debt is noted."""
        payers = [payer for payer in self._payers if payer[1] not in (Kind.ADDRESS, Kind.STALE)]
        if not payers:
            return error
        for client_id, kind in payers:
            debt = throttled(self.debt(world, kind, client_id), kind, share_of(world, kind), self.phase)
            self._keep(world, (client_id, kind), debt)
        detail = "DynamoDB throttles what is stored of the client, which is read or written too fast: ask less often"
        return TooManyRequests(detail, THROTTLED_SECONDS)

    def debt(self, world: World, kind: Kind, client_id: str) -> Debt:
        """The debt of the client now."""
        now = world.clock.now()
        return self._debts.get((client_id, kind), Debt(0.0, now)).at_instant(now, share_of(world, kind))

    def _keep(self, world: World, payer: tuple[str, Kind], debt: Debt) -> None:
        self._debts[payer] = debt
        if len(self._debts) > MOST_DEBTS:
            owed = {key: self.debt(world, key[1], key[0]) for key in self._debts}
            largest = sorted(owed, key=lambda key: owed[key].units, reverse=True)[: MOST_DEBTS // 2]
            self._debts = {key: owed[key] for key in largest if owed[key].units}


def share_of(world: World, kind: Kind) -> float:
    """The units of one environment in a second."""
    return kind.share(_environments(world))


def _environments(world: World) -> int:
    return 1 if world.settings.stage == "local" else API_ENVIRONMENTS


def _refusal(kind: Kind, environments: int) -> str:
    what, units, fix = _SAID[kind]
    return f"{what} faster than may be: {kind.per_second:,} {units} a second, among {environments} environments; {fix}"
