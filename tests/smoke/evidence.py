"""The evidence of a smoke, from which it is judged. Pure values; all instants are epoch ms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from tests.chaos.audit import Audit, audit
from tests.chaos.promises import Arrival, Key, Promise
from tests.chaos.sender import Failure
from tests.smoke.logs import Told
from tests.smoke.plan import Kind
from tests.smoke.probes import Hiding
from tests.smoke.targets.listener import Heard

#: Jobs that are due so soon after a deployment may meet the first start of the new version.
SETTLES_MS = 5_000


@dataclass(frozen=True)
class Upgrade:
    """A deployment of another version, and the version of each Lambda before and after."""

    began_at: int
    ended_at: int
    before: Mapping[str, str]
    after: Mapping[str, str]

    def meets(self, at: int) -> bool:
        """Whether the version was changing at an instant, or had just changed."""
        return self.began_at <= at <= self.ended_at + SETTLES_MS


@dataclass(frozen=True)
class Bill:
    """Dollars, reckoned from the jobs that were asked for, and metered by AWS, by item."""

    reckoned: Mapping[str, float]
    metered: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Everything that the checks judge. None is what could not be seen where the smoke ran."""

    promises: Sequence[Promise]
    kinds: Mapping[Key, Kind]
    heard: Sequence[Heard]
    #: Messages that nobody understands.
    strange: Sequence[str]
    #: The state in which the API shows an execution that no target accepted.
    ends: Mapping[Key, str]
    upgrade: Upgrade
    failures: Sequence[Failure]
    delay_errors_ms: Sequence[int]
    hiding: Hiding
    told: Told
    #: Metrics that CloudWatch has values of, and failed invocations by Lambda.
    metrics: frozenset[str] | None = None
    invocation_errors: Mapping[str, float] | None = None
    bill: Bill | None = None
    #: The errors of taking everything away, and the remains.
    left: Sequence[str] = field(default=())
    delays: int = 0

    @cached_property
    def arrivals(self) -> list[Arrival]:
        """All arrivals, in the order in which they came."""
        return sorted((one.arrival for one in self.heard), key=lambda arrival: arrival.at)

    @cached_property
    def audit(self) -> Audit:
        """Promises compared with arrivals."""
        return audit(self.promises, self.arrivals, self.ends)

    @cached_property
    def accepted(self) -> Mapping[Key, Sequence[Arrival]]:
        """The accepted arrivals of each occurrence."""
        found: dict[Key, list[Arrival]] = {}
        for arrival in self.arrivals:
            if arrival.accepted:
                found.setdefault(arrival.key, []).append(arrival)
        return found

    def of(self, *kinds: Kind) -> list[Promise]:
        """The promises of these kinds."""
        return [promise for promise in self.promises if self.kinds[promise.key] in kinds]

    def audit_of(self, promises: Sequence[Promise]) -> Audit:
        """Some promises compared with the arrivals of these."""
        keys = {promise.key for promise in promises}
        return audit(promises, [arrival for arrival in self.arrivals if arrival.key in keys], self.ends)
