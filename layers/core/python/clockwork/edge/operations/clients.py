"""What the routes that hold a client back, or let it go, do. They are for admins."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import msgspec
from pydantic import Field

from clockwork.domain.clients import Client
from clockwork.domain.lifecycle.parking import HIGHEST_RATE, Parked
from clockwork.edge.http.body import SINGLE_BYTES, read_body
from clockwork.edge.http.checks import Checks, EdgeModel, validate
from clockwork.edge.http.request import Request
from clockwork.edge.requests.schedules import EmptyBody, ReasonBody
from clockwork.edge.responses.clients import Discarding, ShownClient, Unparking
from clockwork.flows import access
from clockwork.flows.world import World

Answer = tuple[HTTPStatus, Any]


class UnparkBody(EdgeModel):
    """POST /v1/clients/{clientId}/parked/release."""

    max_per_second: float = Field(10, ge=0.1, le=HIGHEST_RATE)


class ClientApi:
    """The operations on one client's flow of one Lambda environment."""

    world: World

    def pause_client(self, request: Request) -> Answer:
        """POST /v1/clients/{clientId}/pause: what comes due is parked."""
        body = validate(ReasonBody, _optional(request), self._plain_checks(request))
        client = self._client(request)
        return self._put(msgspec.structs.replace(client, paused=True, pause_reason=body.reason))

    def resume_client(self, request: Request) -> Answer:
        """POST /v1/clients/{clientId}/resume: what was parked is let go on a ramp."""
        validate(ReasonBody, _optional(request), self._plain_checks(request))
        return self._put(msgspec.structs.replace(self._client(request), paused=False, pause_reason=None))

    def release_parked(self, request: Request) -> Answer:
        """POST /v1/clients/{clientId}/parked/release: open circuits or not, at a chosen rate."""
        body = validate(UnparkBody, _optional(request), self._plain_checks(request))
        client = self._client(request)
        self.world.regulation.direct_parked(Parked(client.client_id, rate=body.max_per_second, by_hand=True))
        return HTTPStatus.ACCEPTED, Unparking(client.client_id, body.max_per_second)

    def discard_parked(self, request: Request) -> Answer:
        """POST /v1/clients/{clientId}/parked/discard: all that is parked ends undelivered."""
        validate(EmptyBody, _optional(request), self._plain_checks(request))
        client = self._client(request)
        self.world.regulation.direct_parked(Parked(client.client_id, discard_until=self.world.clock.now()))
        return HTTPStatus.ACCEPTED, Discarding(client.client_id)

    def _client(self, request: Request) -> Client:
        access.require_admin(request.caller)
        return access.client_for(self.world, request.caller, request.path["clientId"])

    def _put(self, client: Client) -> Answer:
        self.world.clients.put(client)
        return HTTPStatus.OK, ShownClient.of(client)

    def _plain_checks(self, request: Request) -> Checks:
        access.require_admin(request.caller)
        return Checks(self.world.clock.now(), self.world.settings, None, request.faults())


def _optional(request: Request) -> Any:
    return read_body(request.event, SINGLE_BYTES) if request.event.get("body") else {}
