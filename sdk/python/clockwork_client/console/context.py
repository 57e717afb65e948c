"""The things that all pages share, and the parts of a page."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from threading import Lock
from time import monotonic
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from clockwork_client.client import Clockwork
from clockwork_client.console.flashes import Flashes
from clockwork_client.console.problems import Problem
from clockwork_client.console.sessions import Sessions
from clockwork_client.console.source import Source

#: The most characters of a filter: longer texts are cut.
_LONGEST = 1_024


def utc_now() -> datetime:
    """The time of this machine."""
    return datetime.now(timezone.utc)


def new_key() -> str:
    """A new idempotency key."""
    return os.urandom(16).hex()


class Page(NamedTuple):
    """A template with what it shows. `problem` is that of its main read, if nothing can be shown without it."""

    template: str
    title: str
    model: Mapping[str, Any]
    status: int = 200


class Asked(NamedTuple):
    """A request as pages see it: its session, the client it is about, its path and query, and the fields of its form.

    `goes_on` tells, behind a call, whether the page may make one more.
    """

    session: str
    client: str
    path: str
    query: Mapping[str, str]
    form: Mapping[str, str]
    goes_on: Callable[[], bool] = lambda: True

    @property
    def behind(self) -> str | None:
        """The token of the page of a list that is asked for; None for the first one."""
        return self.text("next") or None

    def text(self, name: str) -> str:
        """A field of the query, cut to a bounded length."""
        return self.query.get(name, "")[:_LONGEST].strip()

    def number(self, name: str, least: int, most: int) -> int:
        """A number of the query within bounds; the least one, if it is none."""
        text = self.query.get(name, "")
        return min(max(int(text), least), most) if text.isascii() and text.isdigit() and len(text) < 10 else least


class NoSuchPage(Exception):
    """There is nothing at this address."""


class Broken(Exception):
    """The main read of a page has failed, and nothing older is there to show."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.says)
        self.problem = problem


@dataclass
class Context:
    """The things that all pages share. `profile` is that of the AWS CLI, for advice.

    `cw` makes the calls of buttons. `reading` makes those of pages, which give up sooner; without it `cw` does. `clock`
    tells the seconds that a page waits.
    """

    cw: Clockwork
    sessions: Sessions
    now: Callable[[], datetime] = utc_now
    is_read_only: bool = False
    profile: str | None = None
    flashes: Flashes = field(default_factory=Flashes)
    new_key: Callable[[], str] = new_key
    reading: Clockwork | None = None
    clock: Callable[[], float] = monotonic

    def __post_init__(self) -> None:
        self.source = Source(self.reading or self.cw, self.profile)
        self._chosen: dict[str, str] = {}
        self._lock = Lock()

    @property
    def is_development(self) -> bool:
        """Whether the API is on this machine."""
        return urlsplit(self.cw.url).hostname in ("127.0.0.1", "localhost", "::1")

    @property
    def every(self) -> int:
        """The seconds between two refreshes of a page."""
        return 5 if self.is_development else 10

    def choose(self, session: str, client: str) -> None:
        """From now on the pages of this session are about this client."""
        with self._lock:
            if len(self._chosen) > 1_000:
                self._chosen.clear()
            self._chosen[session] = client

    def client_of(self, session: str) -> str:
        """The client that the pages of a session are about. Raises Broken if that cannot be told."""
        chosen = self._chosen.get(session) or self.cw.client_id
        if chosen:
            return chosen
        seen = self.source.clients()
        if seen.value:
            return seen.value[0]
        if seen.problem is not None:
            raise Broken(seen.problem)
        says = "No client lists your principal. An admin adds it: clockwork client put NAME --principal ARN"
        raise Broken(Problem("denied", "You act for no client", says, "clockwork whoami", 403))
