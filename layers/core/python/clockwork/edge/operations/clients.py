"""The operations that pause, resume and delete a client, and release or discard its parked occurrences.

They are for admins. The application lets only admins through to the routes that `routes.ROUTES` marks as theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus

from pydantic import Field

from clockwork.domain.clients import Client
from clockwork.domain.errors import ClientDeleting, InvalidRequest, Problem
from clockwork.domain.lifecycle.parking import HIGHEST_RATE, Parked
from clockwork.edge.http.models import EdgeModel
from clockwork.edge.http.request import Request
from clockwork.edge.http.validation import Body
from clockwork.edge.operations.base import Answer, Operations
from clockwork.edge.requests.changes import EmptyBody, ReasonBody
from clockwork.edge.responses.clients import Discarding, ShownClient, Unparking
from clockwork.flows import access
from clockwork.flows.requests.clients import delete_client, pause_client, resume_client


class UnparkBody(EdgeModel):
    """POST /v1/clients/{clientId}/parked/release."""

    max_per_second: float = Field(10, ge=0.1, le=HIGHEST_RATE)


class ClientApi(Operations):
    """The operations on the deliveries of one client."""

    def pause_client(self, request: Request) -> Answer:
        """POST /v1/clients/{clientId}/pause: occurrences that come due are parked."""
        body, client = self._directed(request, ReasonBody)
        with self._noting(request, "pauseClient", body) as note:
            paused = pause_client(self.world, client.client_id, request.revision(), body.reason, note)
        return HTTPStatus.OK, ShownClient.of(paused)

    def resume_client(self, request: Request) -> Answer:
        """POST /v1/clients/{clientId}/resume: parked occurrences are released on a ramp."""
        body, client = self._directed(request, ReasonBody)
        with self._noting(request, "resumeClient", body) as note:
            resumed = resume_client(self.world, client.client_id, request.revision(), note)
        return HTTPStatus.OK, ShownClient.of(resumed)

    def delete_client(self, request: Request) -> Answer:
        """DELETE /v1/clients/{clientId}: nothing of it starts any more; sweeps end what is left, then it is gone."""
        client = access.client_for(self.world, request.caller, request.path["clientId"])
        with self._noting(request, "deleteClient") as note:
            deleted = delete_client(self.world, client.client_id, request.revision(), note)
        return HTTPStatus.ACCEPTED, ShownClient.of(deleted)

    def release_parked(self, request: Request) -> Answer:
        """POST /v1/clients/{clientId}/parked/release: at a chosen rate, whether circuits are open or not."""
        body, client = self._directed(request, UnparkBody)
        if client.deleting_at is not None:
            detail = f"the client {client.client_id} is being deleted: what it has parked ends CANCELLED"
            raise ClientDeleting(detail)
        with self._noting(request, "releaseParked", body) as note:
            note(client.client_id)
            self.world.regulation.direct_parked(Parked(client.client_id, rate=body.max_per_second, by_hand=True))
        return HTTPStatus.ACCEPTED, Unparking(client.client_id, body.max_per_second)

    def discard_parked(self, request: Request) -> Answer:
        """POST /v1/clients/{clientId}/parked/discard: all parked occurrences end undelivered."""
        _, client = self._directed(request, EmptyBody)
        with self._noting(request, "discardParked") as note:
            note(client.client_id)
            self.world.regulation.direct_parked(Parked(client.client_id, discard_until=self.world.clock.now()))
        return HTTPStatus.ACCEPTED, Discarding(client.client_id)

    def _directed(self, request: Request, model: type[Body]) -> tuple[Body, Client]:
        """The body of a request, and the client of its path."""
        body = self._optional(request, model)
        return body, access.client_for(self.world, request.caller, request.path["clientId"])

    def _require_secrets(self, names: Sequence[str]) -> None:
        """Raise InvalidRequest for names under which there is no signing secret; Unavailable if that is not certain."""
        missing = [index for index, name in enumerate(names) if not self.world.signing_secrets.exists(name)]
        if missing:
            raise InvalidRequest(
                Problem(f"/signingSecrets/{index}", "names no secret that exists") for index in missing
            )
