"""Api: answers the signed HTTPS requests."""

from __future__ import annotations

from typing import Any

from clockwork import bootstrap
from clockwork.edge.app import make_api


def make_handler(app: bootstrap.App) -> bootstrap.Handler:
    """The handler of one environment."""
    answer_request = make_api(app.world)

    def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
        answer = answer_request(event, context)
        status = answer["statusCode"]
        app.emit(
            {"Requests": 1, "Refused": int(400 <= status < 500), "Faults": int(status >= 500)},
            route=event.get("routeKey"),
            status=status,
        )
        return answer

    return handle


lambda_handler = bootstrap.entry_point(make_handler)
