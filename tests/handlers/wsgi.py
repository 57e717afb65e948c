"""The api Lambda as a WSGI application: it does API Gateway's part between HTTP and events, for HTTP test tools."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs

from tests.handlers.handlers import Api
from tests.support.events import http_event

StartResponse = Callable[[str, list[tuple[str, str]]], Any]


class Gateway:
    """An API whose every request is by `caller`, whatever its Authorization header says."""

    def __init__(self, api: Api, caller: str) -> None:
        self._api = api
        self._caller = caller

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        answer = self._api.send(self._event(environ))
        status = f"{answer.status} {HTTPStatus(answer.status).phrase}"
        start_response(status, [("Content-Type", answer.content_type)])
        return [answer.text.encode()]

    def _event(self, environ: dict[str, Any]) -> dict[str, Any]:
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        # WSGI decodes the bytes of path and query as Latin-1: https://peps.python.org/pep-3333/#unicode-issues
        path = environ["PATH_INFO"].encode("latin-1").decode("utf-8", "replace")
        query = parse_qs(environ.get("QUERY_STRING", ""), keep_blank_values=True)
        headers = {
            name.removeprefix("HTTP_").replace("_", "-"): value
            for name, value in environ.items()
            if name.startswith("HTTP_")
        }
        return http_event(
            environ["REQUEST_METHOD"],
            path,
            body or None,
            caller=self._caller,
            headers=headers,
            # API Gateway joins the values of a repeated parameter with commas.
            query={name: ",".join(values) for name, values in query.items()},
        )
