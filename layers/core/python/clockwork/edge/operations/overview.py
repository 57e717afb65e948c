"""The operations that look at the whole: the caller, clients, shards, usage, trails, what is to come."""

from __future__ import annotations

import logging
import re
from http import HTTPStatus

from msgspec.json import decode

from clockwork.domain import instants, keys
from clockwork.domain.clients import CLIENT_ID, Client, present
from clockwork.domain.errors import InvalidRequest, Problem
from clockwork.domain.executions import DAY_MS
from clockwork.domain.lifecycle.parking import parking_of
from clockwork.domain.pools.pool import POOL_NAME
from clockwork.domain.requests.activity import HOUR_MS
from clockwork.domain.requests.quotas import day_of
from clockwork.domain.requests.reading import Kind
from clockwork.domain.requests.trail import Entry, since
from clockwork.edge.http.answer import to_json
from clockwork.edge.http.pages import PageTokens, page
from clockwork.edge.http.request import Request, in_query
from clockwork.edge.operations.base import Answer, Operations
from clockwork.edge.responses import overview as answers
from clockwork.edge.responses.clients import ShownClient
from clockwork.edge.responses.trail import AuditEntry, AuditPage
from clockwork.flows import access
from clockwork.flows.activity.budget import Budget
from clockwork.flows.activity.read import activity_of
from clockwork.flows.outages import tolerated
from clockwork.flows.requests.pools import TRAIL
from clockwork.flows.requests.reading import share_of
from clockwork.flows.requests.redrive import DeadFilter, list_dead
from clockwork.flows.requests.upcoming import Position, list_upcoming

log = logging.getLogger(__name__)

#: The most parked rows, and the most dead executions, that are counted.
MOST_COUNTED = 200
#: How far ahead (ms) is looked, if the query does not say until when.
LOOKED_AHEAD_MS = 24 * 3_600_000
#: Whose trail it is: a client's, or a pool's.
_TRAIL = re.compile(f"{CLIENT_ID.pattern}|{TRAIL}{POOL_NAME.pattern}")


class OverviewApi(Operations):
    """The operations that show where everything stands."""

    def who_am_i(self, request: Request) -> Answer:
        """GET /v1/whoami, for every signed caller: it tells a caller nothing but its own name and clients."""
        caller, own = request.caller, access.own_clients(self.world, request.caller)
        client_ids = sorted(client.client_id for client in own)
        return HTTPStatus.OK, answers.WhoAmI(caller.principal, caller.is_admin, client_ids)

    def list_clients(self, request: Request) -> Answer:
        """GET /v1/clients, for admins."""
        limit = request.limit()
        tokens = PageTokens(self.world, "listClients")
        found = self.world.clients.list(limit + 1, tokens.position_of(request.query.get("nextToken")))
        more = found[limit - 1][0] if len(found) > limit else None
        found = found[:limit]
        clients = [(one, client) for one, client in found if isinstance(client, Client) and present(client)]
        shown = [(one, ShownClient.of(client)) for one, client in clients]
        unreadable = [one for one, client in found if not isinstance(client, Client)]
        items, goes_on = page(shown, more)
        return HTTPStatus.OK, answers.ClientPage(items, unreadable or None, tokens.token_of(goes_on))

    def list_shards(self, _: Request) -> Answer:
        """GET /v1/shards, for admins."""
        now, waiting = self.world.clock.now(), None
        # Where shards stand is asked above all when something is wrong: a queue that gives no answer hides nothing.
        with tolerated(self.world, log, "the backlog is not counted: %s", {"action": "backlog_not_counted"}):
            waiting = self.world.backlog.waiting()
        shards = [answers.ShownShard.of(one, now) for one in self.world.shards.all()]
        return HTTPStatus.OK, answers.ShardList(shards, waiting)

    def get_usage(self, request: Request) -> Answer:
        """GET /v1/clients/{clientId}/usage: bounded counts, so that asking costs little however much there is."""
        client = access.client_for(self.world, request.caller, request.path["clientId"])
        world, client_id = self.world, client.client_id
        self._looking(request, client_id)
        parked = world.timeline.read(parking_of(client_id), keys.BEGINNING, keys.END, MOST_COUNTED)
        dead = list_dead(world, client_id, DeadFilter(since_at=client.since_at), MOST_COUNTED, None)
        capped = client.jobs_per_day is not None
        today = world.regulation.created(client_id, day_of(world.clock.now())) if capped else None
        return HTTPStatus.OK, answers.Usage.of(
            client,
            answers.Counted(len(parked.rows), parked.more),
            answers.Counted(len(dead.executions), dead.next_before is not None),
            world.regulation.circuits(client_id),
            today,
            *(self._pace_of(kind, client_id) for kind in (Kind.LOOK, Kind.CHANGE)),
            released=self._released_until(),
        )

    def get_activity(self, request: Request) -> Answer:
        """GET /v1/clients/{clientId}/activity: counts that environments noted, which cost nobody's job a write."""
        client = access.client_for(self.world, request.caller, request.path["clientId"])
        (from_at, to_at), step_ms = request.instants("from", "to"), 1_000 * request.number("step", 60)
        to_at = self.world.clock.now() if to_at is None else to_at
        from_at = to_at - HOUR_MS if from_at is None else from_at
        if not 0 <= to_at - from_at <= DAY_MS or from_at < 0 or to_at > instants.LAST:
            raise InvalidRequest([Problem(in_query("from"), "must lie before `to`, and 24 hours at the most")])
        self._looking(request, client.client_id)
        found = activity_of(self.world, client, from_at, to_at, step_ms, Budget(self.world))
        return HTTPStatus.OK, answers.Activity.of(client.client_id, step_ms // 1_000, found)

    def _pace_of(self, kind: Kind, client_id: str) -> answers.Reads:
        debt = self.intake.reading.debt(self.world, kind, client_id)
        return answers.Reads.of(debt, share_of(self.world, kind))

    def list_audit(self, request: Request) -> Answer:
        """GET /v1/audit: who asked for which change, for the client's own callers and for admins."""
        limit, job_id = request.limit(), request.query.get("jobId")
        client_id, since_at = self._audited(request)
        tokens = PageTokens(self.world, "listAudit", client_id, since_at)
        before = tokens.position_of(request.query.get("nextToken"))
        self._looking(request, client_id)
        found = self.world.trail.list(client_id, limit, before)
        found = found if since_at == 0 else since(found, since_at)
        if request.caller.is_admin and not found.entries and CLIENT_ID.fullmatch(client_id):
            access.client_for(self.world, request.caller, client_id)
        readable = [one for one in found.entries if isinstance(one, Entry)]
        wanted = [one for one in readable if job_id in (None, one.job_id)]
        items, goes_on = page(((one.key, AuditEntry.of(one)) for one in wanted), found.next_before)
        return HTTPStatus.OK, AuditPage(items, len(found.entries) - len(readable), tokens.token_of(goes_on))

    def _audited(self, request: Request) -> tuple[str, int]:
        """Whose trail is asked for, and from when on (ms). Admins see that of a client that is gone, and of a pool."""
        client_id = request.query.get("clientId")
        if request.caller.is_admin and client_id is not None and _TRAIL.fullmatch(client_id):
            return client_id, 0
        client = access.client_for(self.world, request.caller, client_id)
        return client.client_id, client.since_at

    def list_upcoming(self, request: Request) -> Answer:
        """GET /v1/upcoming: what is about to start for a client, anonymous jobs included."""
        client = access.client_for(self.world, request.caller, request.query.get("clientId"))
        limit, now = request.limit(), self.world.clock.now()
        begin, until = request.instants("from", "to")
        begin = now if begin is None else begin
        until = begin + LOOKED_AHEAD_MS if until is None else until
        tokens = PageTokens(self.world, "listUpcoming", client.client_id, client.since_at)
        position = tokens.position_of(request.query.get("nextToken"))
        start = Position(keys.row_key(begin, ""), 0) if position is None else decode(position.encode(), type=Position)
        # It reads rows of all clients, so it costs more than its answer shows. An admin looks on nobody's account.
        self.intake.admit_preview(self.world, [] if request.caller.is_admin else [client])
        self._looking(request, client.client_id)
        if client.deleting_at is not None:
            return HTTPStatus.OK, answers.UpcomingPage([])  # nothing of it starts any more
        found = list_upcoming(self.world, client.client_id, start, until, limit, client.since_at)
        shown = ((to_json(one.position), answers.UpcomingItem.of(one, is_paused=client.paused)) for one in found.items)
        items, goes_on = page(shown, None if found.goes_on is None else to_json(found.goes_on))
        in_order = sorted(items, key=lambda one: one.at)
        return HTTPStatus.OK, answers.UpcomingPage(in_order, tokens.token_of(goes_on))
