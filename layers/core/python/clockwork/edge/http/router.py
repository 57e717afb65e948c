"""Find the route of a request, as API Gateway hands it over (HTTP API, payload format 2.0)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from clockwork.routes import Route


class Router:
    """Routes by method and path. A path without parameters goes before one whose parameters would take it."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._whole: dict[tuple[str, str], Route] = {}
        self._of_parts: dict[tuple[str, int], list[tuple[list[str], Route]]] = {}
        for route in routes:
            parts = route.path.split("/")
            if "{" in route.path:
                self._of_parts.setdefault((route.method, len(parts)), []).append((parts, route))
            else:
                self._whole[route.method, route.path] = route

    def find(self, event: dict[str, Any]) -> tuple[Route, dict[str, str]] | None:
        """The route of an event, and the parameters of its path; None if there is no such route."""
        return self._taken(*_sent(event))

    def others(self, event: dict[str, Any]) -> tuple[list[str], Route | None]:
        """Of an event without a route: the methods that its path takes, and the route of its method one part below."""
        method, path = _sent(event)
        methods = {one for one, _ in (*self._whole, *self._of_parts)}
        below = self._taken(method, f"{path}/x")
        return sorted(one for one in methods if self._taken(one, path)), below and below[0]

    def _taken(self, method: str, path: str) -> tuple[Route, dict[str, str]] | None:
        if (route := self._whole.get((method, path))) is not None:
            return route, {}
        sent = path.split("/")
        for parts, route in self._of_parts.get((method, len(sent)), ()):
            if (found := _parameters(parts, sent)) is not None:
                return route, found
        return None


def _sent(event: dict[str, Any]) -> tuple[str, str]:
    """The method of an event, and its path without the stage."""
    context = event["requestContext"]
    method, path = context["http"]["method"], event["rawPath"]
    return method, path if context["stage"] == "$default" else path.removeprefix(f"/{context['stage']}")


def _parameters(parts: list[str], sent: list[str]) -> dict[str, str] | None:
    """The parameters of a path that has these parts; None if another part differs, or a parameter is empty."""
    found: dict[str, str] = {}
    for part, here in zip(parts, sent, strict=True):
        if part.startswith("{") and here:
            found[part[1:-1]] = here
        elif part != here:
            return None
    return found
