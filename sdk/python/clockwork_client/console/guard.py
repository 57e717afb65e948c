"""The guard: judges each request before any route does.

A page of another site, a program that guesses, and a name that leads to 127.0.0.1 all reach this port. The guard lets
through what came to this address, in a session, and, if it may change something, from a form of this session.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qsl

from starlette.responses import PlainTextResponse

from clockwork_client.console.sessions import Sessions

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_BODY = 512 * 1024
MOST_FIELDS = 50
#: The field of a form that carries its token.
TOKEN = "_token"  # noqa: S105 - the name of a field
ENTER = "/enter"
STATIC = "/static/"
#: Where the handlers of forms find the fields, in the scope of the request.
FORM = "clockwork.form"
SESSION = "clockwork.session"
_SAFE = frozenset({"GET", "HEAD"})
_POLICY = "; ".join(
    [
        "default-src 'none'",
        *(f"{kind}-src 'self'" for kind in ("script", "style", "img", "font", "connect")),
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ]
)
#: With `no-referrer` a browser sends `Origin: null` with the console's own forms.
HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
}
_SIGN_IN = "Open the link that `clockwork console` printed. Press p and Enter there for another one."


class Refusal(NamedTuple):
    """Why a request goes no further."""

    status: int
    says: str


class Asked(NamedTuple):
    """The parts of a request that the guard looks at. Each header has the list of its values, as they came."""

    method: str
    path: str
    hosts: list[str]
    origins: list[str]
    sites: list[str]
    cookies: str
    content_types: list[str]
    length: str

    @classmethod
    def of(cls, scope: Scope) -> Asked:
        """The request of an ASGI scope."""
        found: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            found.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        return cls(
            method=scope["method"],
            path=scope["path"],
            hosts=found.get("host", []),
            origins=found.get("origin", []),
            sites=found.get("sec-fetch-site", []),
            cookies=";".join(found.get("cookie", [])),
            content_types=found.get("content-type", []),
            length=",".join(found.get("content-length", [])),
        )


class Guard:
    """An ASGI application around another one. `sessions` are those of the console at `port` of this machine."""

    def __init__(self, app: ASGIApp, sessions: Sessions, port: int) -> None:
        self._app = app
        self._sessions = sessions
        self._hosts = frozenset({f"127.0.0.1:{port}", f"localhost:{port}"})
        self._origins = frozenset(f"http://{host}" for host in self._hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a refusal, or hand the request on with its session and its form."""
        if scope["type"] != "http":
            # The server speaks HTTP alone: anything else is a fault of its configuration.
            raise RuntimeError(f"the console has no {scope['type']}")

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                others = [one for one in message["headers"] if one[0].decode("latin-1").lower() not in HEADERS]
                ours = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*others, *ours]}
            await send(message)

        asked = Asked.of(scope)
        session = self._sessions.of(asked.cookies)
        refusal = self.refusal(asked, session)
        if refusal is None and asked.method not in _SAFE:
            refusal = await self._read(asked, session or "", scope, receive)
        if refusal is not None:
            await PlainTextResponse(refusal.says + "\n", refusal.status)(scope, receive, guarded)
            return
        await self._app({**scope, SESSION: session}, receive, guarded)

    def refusal(self, asked: Asked, session: str | None) -> Refusal | None:
        """The reason to refuse a request, before its body is read. None lets it through."""
        if len(asked.hosts) != 1 or asked.hosts[0] not in self._hosts:
            return Refusal(421, "This is the console of 127.0.0.1, and of no other host.")
        is_open = asked.path.startswith(STATIC) or asked.path == ENTER
        if session is None and not (is_open and asked.method in _SAFE):
            return Refusal(401, _SIGN_IN)
        if asked.method in _SAFE:
            if "cross-site" in asked.sites and asked.path != ENTER:
                return Refusal(403, "A page of another site asked for this.")
            return None
        if len(asked.origins) != 1 or asked.origins[0] not in self._origins or asked.sites != ["same-origin"]:
            return Refusal(403, "Only a page of this console may change something.")
        return None

    async def _read(self, asked: Asked, session: str, scope: Scope, receive: Receive) -> Refusal | None:
        """Read the form into the scope. A body that is too long is not read to its end."""
        if [one.partition(";")[0].strip().lower() for one in asked.content_types] != [
            "application/x-www-form-urlencoded"
        ]:
            return Refusal(415, "A form of this console is urlencoded.")
        too_large = Refusal(413, f"A form has at most {LARGEST_BODY:,} bytes.")
        if asked.length.isdecimal() and int(asked.length[:12]) > LARGEST_BODY:
            return too_large
        body = await _bounded(receive)
        if body is None:
            return too_large
        try:
            fields = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict")
        except ValueError:
            return Refusal(400, f"A form has at most {MOST_FIELDS} fields, in UTF-8.")
        form = dict(fields)
        if len(form) != len(fields) or not self._sessions.is_form_token(form.pop(TOKEN, ""), session, asked.path):
            return Refusal(403, "The page is of another session. Load it again, and repeat.")
        scope[FORM] = form
        return None


async def _bounded(receive: Receive) -> bytes | None:
    """The body of a request; None if it is too long, or if its sender left."""
    chunks, size = [], 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        chunks.append(message.get("body", b""))
        size += len(chunks[-1])
        if size > LARGEST_BODY:
            return None
        if not message.get("more_body", False):
            return b"".join(chunks)
