"""The needs of a smoke at the place where it runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from local.api import SignedApi
from tests.smoke.evidence import Bill
from tests.smoke.logs import Told
from tests.smoke.plan import Kind
from tests.smoke.scale import Bounds, Scale
from tests.smoke.targets.listener import Heard


class Place(ABC):
    """A deployed stack, and what is around it."""

    stage: str
    region: str
    account: str
    scale: Scale
    bounds: Bounds
    #: Checks that cannot be made here, with the reason.
    not_here: Mapping[str, str]
    #: Whether targets may have what only AWS has: a public address, a queue with a key.
    public: bool
    #: Of the function behind targets.
    runtime: str
    outputs: Mapping[str, str]
    api: SignedApi

    @abstractmethod
    def client(self, service: str) -> Any:
        """A botocore client of a service."""

    @abstractmethod
    def tenant(self) -> Mapping[str, Any]:
        """The definition of the smoke's client, besides the targets that are made for it."""

    @abstractmethod
    def web(self, made: Mapping[str, str]) -> str:
        """The address of webhooks, with the outputs of the targets' stack."""

    @abstractmethod
    def more_targets(self) -> Mapping[Kind, Mapping[str, Any]]:
        """Targets that no template makes."""

    @abstractmethod
    def heard(self) -> Sequence[Heard]:
        """The arrivals elsewhere than in the queues of the targets."""

    @abstractmethod
    def upgrade(self) -> None:
        """Deploy another version of Clockwork."""

    @abstractmethod
    def metrics(self, names: Sequence[str], since: int) -> frozenset[str] | None:
        """Which of these metrics CloudWatch has since an instant (epoch ms); None if it cannot tell here."""

    @abstractmethod
    def invocation_errors(self, told: Told, since: int) -> Mapping[str, float]:
        """Failed invocations by Lambda since an instant (epoch ms)."""

    @abstractmethod
    def bill(self, reckoned: Mapping[str, float], since: int) -> Bill | None:
        """The bill that AWS has metered; None if nobody meters here."""

    @abstractmethod
    def leave(self) -> list[str]:
        """Take everything away that was deployed here; returns what is left, in sentences."""

    @property
    def functions(self) -> Mapping[str, str]:
        """The names of the Lambdas, by moment."""
        return {
            name.removesuffix("Function"): value for name, value in self.outputs.items() if name.endswith("Function")
        }
