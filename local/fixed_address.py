"""One address in plain HTTP at which the emulator answers as the deployed API, and as nothing else.

Any client that signs requests for AWS reaches it, without a name to resolve or a certificate to trust. The emulator
checks a signature against the Host header and the path that it received, and neither is rewritten.

Runs in the emulator's process. The port is on loopback, where every web page of a browser may send requests too.
Requests for another Host are therefore refused (DNS rebinding), and so are paths that begin with `/_`, which are the
emulator's own. `GET /` answers a page, which the server writes into the emulator's folder once it is up.
"""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any

from local.dev.keys import KEYS

Scope = MutableMapping[str, Any]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Any, Send], Awaitable[None]]
#: The process of which the emulator is a part: the one that was started by hand.
_STARTED_BY = os.getppid()
#: The page at `/`, in the emulator's folder.
PAGE = "index.html"
_STARTING = b"<!doctype html><title>Clockwork</title><p>The development server is starting.</p>"
#: The page loads nothing from anywhere, and is no part of another one.
_PAGE_HEADERS = [
    (b"content-type", b"text/html; charset=utf-8"),
    (b"content-security-policy", b"default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
]


def at_fixed_address(app: App, port: int, folder: Path) -> App:
    """The emulator's app, with the API at `http://127.0.0.1:port` and the fixed keys of `local.dev.keys`.

    `folder`: where PAGE is, once the server has written it.
    """
    from ministack.services import iam

    for user, key in KEYS.items():
        iam._access_keys[key.access_key] = {
            "UserName": user,
            "AccessKeyId": key.access_key,
            "SecretAccessKey": key.secret_key,
            "Status": "Active",
            "CreateDate": iam._now(),
        }
    _route_to_the_api(port)

    async def guarded(scope: Scope, receive: Any, send: Send) -> None:
        # The emulator's own port speaks TLS: what comes in clear has come to this one.
        if scope["type"] == "websocket" and scope["scheme"] == "ws":
            await send({"type": "websocket.close"})
        elif scope["type"] == "http" and scope["scheme"] == "http" and (refusal := _refusal_of(scope, port)):
            await _answer(send, *refusal)
        elif scope["type"] == "http" and scope["scheme"] == "http" and _asks_for_the_page(scope):
            page = folder / PAGE
            await _send(send, 200, page.read_bytes() if page.exists() else _STARTING, _PAGE_HEADERS)
        else:
            await app(scope, receive, send)

    return guarded


def _route_to_the_api(port: int) -> None:
    from ministack import app
    from ministack.services import apigateway

    resolve = app._resolve_custom_domain_request

    def resolve_port(host: str, path: str) -> Any:
        if host.endswith(f":{port}"):
            return next(iter(apigateway._apis), "none"), "$default", path
        return resolve(host, path)

    app._resolve_custom_domain_request = resolve_port


def _refusal_of(scope: Scope, port: int) -> tuple[int, dict[str, Any]] | None:
    """Status and body of a refusal; None for a request that goes on to the API, which wants it signed."""
    hosts = [value.decode("latin-1").lower() for name, value in scope["headers"] if name == b"host"]
    if hosts not in ([f"127.0.0.1:{port}"], [f"localhost:{port}"]):
        return 421, {"detail": f"this is http://127.0.0.1:{port} and no other host"}
    if scope["path"].lstrip("/").startswith("_"):
        told = {"folder": str(Path.cwd()), "process": _STARTED_BY}
        return 404, {"detail": "this address has the paths of Clockwork's API alone", "developmentServer": told}
    return None


def _asks_for_the_page(scope: Scope) -> bool:
    return scope["path"] == "/" and scope["method"] in ("GET", "HEAD")


async def _answer(send: Send, status: int, body: dict[str, Any]) -> None:
    await _send(send, status, json.dumps(body).encode(), [(b"content-type", b"application/json")])


async def _send(send: Send, status: int, body: bytes, headers: list[tuple[bytes, bytes]]) -> None:
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body})
