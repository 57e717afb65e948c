"""A browser without a screen: it sends requests to the console's application, keeps its cookie, and reads its forms."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import unescape
from typing import Any
from urllib.parse import unquote, urlencode, urlsplit

from clockwork_client import Clockwork
from clockwork_client.console.app import application
from clockwork_client.console.context import Context
from clockwork_client.console.guard import Guard
from clockwork_client.console.sessions import Sessions
from clockwork_client.testing import VirtualClockwork

PORT = 4785
HOST = f"127.0.0.1:{PORT}"
ORIGIN = f"http://{HOST}"


@dataclass(frozen=True)
class Answer:
    """An answer of the console, its header names in lower case."""

    status: int
    headers: Mapping[str, str]
    text: str
    size: int

    @property
    def words(self) -> str:
        """The text without its markup, on one line."""
        bare = re.sub(r"<(script|style)\b.*?</\1>", "", self.text, flags=re.DOTALL)
        return " ".join(unescape(re.sub(r"<[^>]+>", " ", bare)).split())

    def region(self, name: str) -> str:
        """The words of the first element that has this class or id, until its line's block ends."""
        found = re.search(rf'<[^>]+(?:class|id)="{name}\b[^>]*>(.*)', self.text, re.DOTALL)
        assert found is not None, f"no {name} in {self.words}"
        return " ".join(unescape(re.sub(r"<[^>]+>", " ", found[1][:4_000])).split())


class Visitor:
    """A reader of one console. `seconds` are those of its sessions and pages, so that a busy machine cuts no page."""

    def __init__(self, cw: Clockwork, v: VirtualClockwork | None = None, **options: Any) -> None:
        self.seconds = 0.0
        self.sessions = Sessions(PORT, lambda: self.seconds)
        clocks = {"clock": lambda: self.seconds, **({} if v is None else {"now": lambda: v.now})}
        self.context = Context(cw, self.sessions, **{**clocks, **options})
        self.app: Guard = application(self.context, PORT)
        self.cookie = ""

    def enter(self) -> Visitor:
        """Open a session by a new link."""
        answer = self.get(f"/enter?token={self.sessions.new_link()}")
        assert answer.status == 200, answer.text
        self.cookie = answer.headers["set-cookie"].partition(";")[0]
        return self

    def get(self, path: str, **headers: str) -> Answer:
        """A page, as a browser asks for it."""
        own = {"host": HOST, **({"cookie": self.cookie} if self.cookie else {})}
        return self.send("GET", path, {**own, **{name.replace("_", "-"): value for name, value in headers.items()}})

    def look(self, path: str) -> Answer:
        """A page that is there."""
        self.context.source.forget()
        answer = self.get(path)
        assert answer.status == 200, f"{answer.status}: {answer.words}"
        return answer

    def submit(self, page: str, to: str, *, nth: int = 0, **fields: str) -> Answer:
        """Send the form of a page that leads to this path, with these fields filled in, and follow its answer."""
        forms = [one for one in forms_of(self.get(page)) if one.action == to]
        assert len(forms) > nth, f"{page} has no form to {to}"
        return self.follow(self.post(to, {**forms[nth].fields, **fields}))

    def follow(self, answer: Answer) -> Answer:
        """The page that an answer leads to, or the answer itself."""
        return self.get(answer.headers["location"]) if answer.status == 303 else answer

    def post(self, path: str, fields: Mapping[str, str], **headers: str) -> Answer:
        """Send a form as a browser does."""
        own = {
            "host": HOST,
            "cookie": self.cookie,
            "origin": ORIGIN,
            "sec-fetch-site": "same-origin",
            "content-type": "application/x-www-form-urlencoded",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        return self.send("POST", path, own, urlencode(fields).encode())

    def send(
        self, method: str, path: str, headers: Mapping[str, str] | list[tuple[str, str]], body: bytes = b""
    ) -> Answer:
        """Any request at all."""
        pairs = list(headers.items()) if isinstance(headers, Mapping) else headers
        parts = urlsplit(path)
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(parts.path),
            "raw_path": parts.path.encode(),
            "query_string": parts.query.encode(),
            "root_path": "",
            "headers": [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in pairs],
            "client": ("127.0.0.1", 50_000),
            "server": ("127.0.0.1", PORT),
        }
        return asyncio.run(self._sent(scope, body))

    async def _sent(self, scope: dict[str, Any], body: bytes) -> Answer:
        parts = [body[at : at + 65_536] for at in range(0, len(body), 65_536)] or [b""]
        coming = [{"type": "http.request", "body": one, "more_body": True} for one in parts]
        coming[-1]["more_body"] = False
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            if not coming:
                await asyncio.Event().wait()  # the browser stays
            return coming.pop(0)

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        headers = {name.decode().lower(): value.decode("latin-1") for name, value in sent[0]["headers"]}
        content = b"".join(one.get("body", b"") for one in sent[1:])
        return Answer(sent[0]["status"], headers, content.decode(errors="replace"), len(content))


@dataclass(frozen=True)
class Form:
    """A form of a page: where it is sent, and the fields that it has."""

    action: str
    fields: dict[str, str]


def forms_of(answer: Answer) -> list[Form]:
    """All forms of a page that are sent by POST."""
    found = []
    for one in re.finditer(r'<form\b[^>]*method="post"[^>]*action="([^"]*)"[^>]*>(.*?)</form>', answer.text, re.DOTALL):
        fields = re.findall(r'<input\b[^>]*name="([^"]*)"(?:[^>]*?value="([^"]*)")?', one[2])
        fields += re.findall(r'<textarea\b[^>]*name="([^"]*)"[^>]*>\n?(.*?)</textarea>', one[2], re.DOTALL)
        for name, options in re.findall(r'<select\b[^>]*name="([^"]*)"[^>]*>(.*?)</select>', one[2], re.DOTALL):
            chosen = re.findall(r'<option value="([^"]*)"( selected)?', options)
            fields += [(name, next((value for value, is_it in chosen if is_it), chosen[0][0] if chosen else ""))]
        found.append(Form(unescape(one[1]), {unescape(name): unescape(value) for name, value in fields}))
    return found
