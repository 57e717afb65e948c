"""The base class of the operations: it holds the world, and reads and validates a request's optional body."""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from typing import Any

from clockwork.domain.clients import Client
from clockwork.domain.requests.quotas import Admit
from clockwork.edge.http.body import SINGLE_BYTES, read_body
from clockwork.edge.http.checks import Body, Checks, validate
from clockwork.edge.http.request import Request
from clockwork.flows.requests.quotas import Intake
from clockwork.flows.world import World

Answer = tuple[HTTPStatus, Any]


class Operations:
    """The operations of one Lambda environment."""

    world: World
    #: Counts what this environment has let in from clients with caps.
    intake: Intake

    def _admitting(self, client_id: str) -> Admit:
        """What lets in so many occurrences of a client, and counts them."""
        client = self.world.clients.get(client_id)
        # What has no row has no caps.
        return partial(self.intake.admit, self.world, client or Client(client_id=client_id))

    def _checks(self, request: Request, client: Client | None = None) -> Checks:
        """The Checks of a request: faults outside its body are reported with those inside."""
        return Checks(self.world.clock.now(), self.world.settings, client, request.faults())

    def _optional(self, request: Request, model: type[Body]) -> Body:
        """The body of a request that may have none: it is an empty object then. Raises as `validate` does."""
        value = read_body(request.event, SINGLE_BYTES) if request.event.get("body") else {}
        return validate(model, value, self._checks(request))
