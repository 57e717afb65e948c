"""The application: it finds the operation of an API Gateway event; each error becomes a problem document."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache, partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from clockwork.domain.clients import ClientUnreadable
from clockwork.domain.errors import PartitionThrottled, TooManyRequests, Unavailable
from clockwork.edge import late
from clockwork.edge.http import problems
from clockwork.edge.http.answer import PlainText, to_json
from clockwork.edge.http.request import Request, caller_arn
from clockwork.edge.http.router import Router
from clockwork.edge.operations.base import Counts
from clockwork.edge.operations.creates import CreateApi
from clockwork.flows.access import NOBODY, identify, require_admin
from clockwork.flows.containment import place_of
from clockwork.flows.requests.quotas import Intake
from clockwork.flows.timeline.shards import ensure_shards
from clockwork.flows.world import World
from clockwork.routes import ROUTES, Route

if TYPE_CHECKING:
    from clockwork.edge.operations.jobs import Api

log = logging.getLogger(__name__)

Handler = Callable[[dict[str, Any], Any], dict[str, Any]]


def make_api(world: World, count: Counts) -> Handler:
    """The Lambda handler of the API. It tells `count` its metrics, such as how many jobs a create was promised."""
    intake = Intake()
    intake.reading.phase = world.random.fraction()
    creates = CreateApi(world, count, cache(partial(ensure_shards, world)), intake)
    router = Router(route for route in ROUTES if not route.unsigned or world.settings.takes_unsigned)

    @cache
    def others() -> Api:
        return late.all_operations(world, count, creates.shards, intake)

    def handle(event: dict[str, Any], _: Any) -> dict[str, Any]:
        if (found := router.find(event)) is None:
            return _not_found(router, event)
        route, path = found
        try:
            api = creates if hasattr(creates, route.operation) else others()
            return _answer(api, route, path, event)
        except Exception as error:  # noqa: BLE001 - the last resort: the client learns that it failed, the log why
            return _problem(route, error)

    return handle


def _answer(api: CreateApi, route: Route, path: dict[str, str], event: dict[str, Any]) -> dict[str, Any]:
    caller = NOBODY if route.unsigned else identify(api.world, caller_arn(event))
    if route.admin:
        require_admin(caller)
    query = event.get("queryStringParameters") or {}
    if query:
        late.check_query(route.operation, query)
    request = Request(event, caller, path, query)
    asked = late.dry_run(api) if request.is_dry else api
    reading = asked.intake.reading
    reading.begin(asked.world)
    try:
        status, body = getattr(asked, route.operation)(request)
    except PartitionThrottled as error:
        raise reading.throttled(asked.world, error) from error
    finally:
        reading.settle(asked.world)
    return _respond(status, body, "text/plain" if isinstance(body, PlainText) else "application/json")


def _problem(route: Route, error: Exception) -> dict[str, Any]:
    document = problems.original_problem_of(error) if route.original else problems.problem_of(error)
    if isinstance(error, Unavailable | ClientUnreadable):
        log.warning("unavailable: %s", error, extra={"action": "api_unavailable", "operation": route.operation})
    elif document.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        # The log gets the place of the fault, never the message: a library's may quote its input, such as a payload.
        extra = {"action": "api_failed", "operation": route.operation, **place_of(error)}
        log.error("unexpected error", extra=extra)
    answer = _respond(document.status, document, problems.CONTENT_TYPE)
    if isinstance(error, TooManyRequests):
        answer["headers"]["Retry-After"] = str(error.retry_after_seconds)
    return answer


def _not_found(router: Router, event: dict[str, Any]) -> dict[str, Any]:
    methods, below = router.others(event)
    if not methods:
        detail = "there is no such route: GET /v1/openapi.json describes all"
        return _respond(HTTPStatus.NOT_FOUND, problems.Problem.of(HTTPStatus.NOT_FOUND, detail), problems.CONTENT_TYPE)
    detail = f"this path takes {', '.join(methods)} alone" + (f"; there is {below.key}" if below else "")
    document = problems.Problem.of(HTTPStatus.METHOD_NOT_ALLOWED, detail)
    answer = _respond(document.status, document, problems.CONTENT_TYPE)
    answer["headers"]["Allow"] = ", ".join(methods)
    return answer


def _respond(status: int, body: Any, content_type: str) -> dict[str, Any]:
    """An answer as API Gateway takes it (payload format 2.0)."""
    return {
        "statusCode": int(status),
        "headers": {"Content-Type": content_type},
        "body": str(body) if isinstance(body, str) else to_json(body),
        "isBase64Encoded": False,
    }
