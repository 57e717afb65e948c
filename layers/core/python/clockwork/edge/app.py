"""The application: Powertools routes an API Gateway event to its operation; each error becomes a problem document."""

from __future__ import annotations

import logging
from collections.abc import Callable
from http import HTTPStatus
from traceback import extract_tb
from typing import Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response

from clockwork.domain.errors import TooManyRequests, Unavailable
from clockwork.edge.description.parameters import check_query, query_of
from clockwork.edge.http import problems
from clockwork.edge.http.answer import to_json
from clockwork.edge.http.request import Request, caller_arn
from clockwork.edge.operations.jobs import Api
from clockwork.edge.operations.original import PlainText
from clockwork.flows.access import identify, require_admin
from clockwork.flows.world import World
from clockwork.routes import ROUTES, Route

log = logging.getLogger(__name__)

Handler = Callable[[dict[str, Any], Any], dict[str, Any]]


def make_api(world: World, count_accepted: Callable[[int], None]) -> Handler:
    """The Lambda handler of the API. It tells `count_accepted` how many jobs each create request was promised."""
    api = Api(world, count_accepted)
    resolver = APIGatewayHttpResolver()
    for route in ROUTES:
        pattern = route.path.replace("{", "<").replace("}", ">")
        resolver.route(pattern, method=route.method)(_answering(resolver, api, route))
    resolver.not_found(_not_found)

    def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
        return resolver.resolve(event, context)

    return handle


def _answering(resolver: APIGatewayHttpResolver, api: Api, route: Route) -> Callable[..., Response[str]]:
    operation, known = getattr(api, route.operation), query_of(route.operation)

    def answer(**path: str) -> Response[str]:
        event = resolver.current_event.raw_event
        try:
            caller = identify(api.world, caller_arn(event))
            if route.admin:
                require_admin(caller)
            query = event.get("queryStringParameters") or {}
            check_query(query, known)
            status, body = operation(Request(event, caller, path, query))
        except Exception as error:  # noqa: BLE001 - the last resort: the client learns that it failed, the log why
            return _problem(route, error)
        return _respond(status, body, "text/plain" if isinstance(body, PlainText) else "application/json")

    return answer


def _problem(route: Route, error: Exception) -> Response[str]:
    document = problems.original_problem_of(error) if route.original else problems.problem_of(error)
    if isinstance(error, Unavailable):
        log.warning("unavailable: %s", error, extra={"action": "api_unavailable", "operation": route.operation})
    elif document.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        # The log gets the place of the fault, never the message: a library's may quote its input, such as a payload.
        where = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in extract_tb(error.__traceback__)]
        extra = {"action": "api_failed", "operation": route.operation, "error": type(error).__name__, "where": where}
        log.error("unexpected error", extra=extra)
    answer = _respond(HTTPStatus(document.status), document, problems.CONTENT_TYPE)
    if isinstance(error, TooManyRequests):
        answer.headers["Retry-After"] = str(error.retry_after_seconds)
    return answer


def _not_found(_: Exception) -> Response[str]:
    return _respond(
        HTTPStatus.NOT_FOUND, problems.Problem.of(HTTPStatus.NOT_FOUND, "there is no such route"), problems.CONTENT_TYPE
    )


def _respond(status: HTTPStatus, body: Any, content_type: str) -> Response[str]:
    return Response(int(status), content_type, str(body) if isinstance(body, str) else to_json(body))
