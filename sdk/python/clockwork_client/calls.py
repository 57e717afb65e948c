"""One call of the API: signed, repeated while a repeat may help, and answered with certainty or with NotCertain.

How a call fails. If an answer is lost, cut off or no JSON, the API may have carried the request out. The client then
sends the request again, with the same Idempotency-Key if the request creates something. 429 and 5xx are repeated, after
`Retry-After` if the API sends one. All other refusals are final. At the deadline a request that may have been carried
out ends as NotCertain, never as a refusal. If no connection comes about, the call ends as NotReached, sooner where the
caller says so. A 409 to a repeat may come from the first try itself, unless a key tells the
two apart. Such a 409 is NotCertain, too.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote, urlencode

from clockwork_client.errors import (
    REFUSALS,
    Conflict,
    Fault,
    NotCertain,
    NotReached,
    Refused,
    TooManyRequests,
    UnexpectedAnswer,
)
from clockwork_client.transport import NoAnswer, Request, Response, Transport

Made = TypeVar("Made")
_FIRST_WAIT, _LONGEST_WAIT = 0.1, 5.0
_MOST_FAULTS, _LONGEST_DETAIL = 1_000, 2_000
_ENCODE = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


class Machine(NamedTuple):
    """The client's needs of the machine: seconds of a clock, a pause, a random number (0 to 1), and a new key."""

    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = lambda: int.from_bytes(os.urandom(4), "big") / 2**32
    new_key: Callable[[], str] = lambda: os.urandom(16).hex()


class Unanswered(NamedTuple):
    """A call under way: the request in words, and its Idempotency-Key, if it has one."""

    request: str
    idempotency_key: str | None


class Unsure(Exception):
    """One try had an answer without a result. `retry_after` is the wait (s) that the API asked for, if any."""

    may_be_done = True

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Caller:
    """Sends calls to the API at `url`. In seconds, `timeout` is for one try and `deadline` for all of a call.

    `connecting`: how long (s) a call is repeated while no connection comes about, unless the call has its own deadline.
    """

    def __init__(
        self,
        url: str,
        sign: Callable[[str, str, Mapping[str, str], bytes | None], dict[str, str]],
        transport: Transport,
        timeout: float,
        deadline: float,
        connecting: float,
        agent: str,
        machine: Machine,
    ) -> None:
        self._url = url
        self._sign = sign
        self._transport = transport
        for name, seconds in (("timeout", timeout), ("deadline", deadline), ("connecting", connecting)):
            if not 0 < seconds < float("inf"):
                raise ValueError(f"the {name} is {seconds:g} s; it has to be above 0, and not endless")
        self._timeout = timeout
        self._deadline = deadline
        self._connecting = connecting
        self._agent = agent
        self.machine = machine
        #: The call that was sent, may change something, and has no certain answer yet. An interrupt leaves its result
        #: unknown.
        self.unanswered: Unanswered | None = None

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Mapping[str, object] | None = None,
        key: str | None = None,
        if_match: int | None = None,
        deadline: float | None = None,
    ) -> Any:
        """The JSON of the answer. `key` is the Idempotency-Key. Raises Refused, NotCertain or NotConfigured."""
        if method != "GET":
            self.unanswered = Unanswered(f"{method} {path}", key)
        try:
            answer = self._until_certain(method, path, body, query, key, if_match, deadline)
        except Exception:
            self.unanswered = None
            raise
        self.unanswered = None
        return answer

    def _until_certain(
        self,
        method: str,
        path: str,
        body: object,
        query: Mapping[str, object] | None,
        key: str | None,
        if_match: int | None,
        deadline: float | None,
    ) -> Any:
        url = self._url + path + _query(query)
        content = None if body is None else _ENCODE(body).encode()
        headers = _headers(key, if_match)
        clock = self.machine.clock
        began_at = clock()
        ends_at = began_at + (self._deadline if deadline is None else deadline)
        # A caller that names a deadline, such as a worker, is one that waits for an API to come back.
        connects_by = ends_at if deadline is not None else min(ends_at, began_at + self._connecting)
        tries, may_be_done = 0, False
        while True:
            tries += 1
            failure: TooManyRequests | NoAnswer | Unsure
            try:
                return self._try(method, url, headers, content, ends_at)
            except Conflict as error:
                if key is None and may_be_done:
                    raise NotCertain(f"an earlier try may have caused this: {error}", tries) from error
                raise
            except (TooManyRequests, NoAnswer, Unsure) as error:
                failure = error
            may_be_done = may_be_done or failure.may_be_done
            wait = self._backoff(tries) if failure.retry_after is None else failure.retry_after
            if clock() + wait >= (ends_at if may_be_done or isinstance(failure, TooManyRequests) else connects_by):
                raise _final(failure, f"{method} {path}", tries, key, may_be_done=may_be_done) from failure
            self.machine.sleep(wait)

    def _try(self, method: str, url: str, headers: Mapping[str, str], content: bytes | None, ends_at: float) -> Any:
        timeout = max(min(self._timeout, ends_at - self.machine.clock()), 0.001)
        signed = self._sign(method, url, headers, content)
        signed["User-Agent"] = self._agent
        return _read(self._transport(Request(method, url, signed, content, timeout)))

    def _backoff(self, tries: int) -> float:
        """A pause that doubles with each try, times a random number: callers that failed together return apart."""
        return min(_LONGEST_WAIT, _FIRST_WAIT * 2.0 ** min(tries, 16)) * (0.5 + self.machine.chance() / 2)


def made(kind: Callable[[Any], Made], answer: Any, key: str) -> Made:
    """The answer to a request that creates something, as its class. Raises UnexpectedAnswer with the request's key."""
    try:
        return kind(answer)
    except UnexpectedAnswer as error:
        error.idempotency_key = key
        raise


def segment(name: str) -> str:
    """A name as one segment of a path. Raises ValueError for one that would lead to another path."""
    if not name or name in {".", ".."}:
        raise ValueError(f"{name!r} is no id")
    return quote(name, safe="")


def check_key(key: str) -> None:
    """Raises ValueError unless this can be an Idempotency-Key."""
    if not (0 < len(key) < 256 and key.isascii() and key.isprintable() and " " not in key):
        raise ValueError("an idempotency key has 1-255 visible ASCII characters")


def _headers(key: str | None, if_match: int | None) -> dict[str, str]:
    headers = {"Content-Type": "application/json"}
    if key is not None:
        check_key(key)
        headers["Idempotency-Key"] = key
    if if_match is not None:
        headers["If-Match"] = str(if_match)
    return headers


def _query(query: Mapping[str, object] | None) -> str:
    present = {name: value for name, value in (query or {}).items() if value is not None}
    return f"?{urlencode(present, quote_via=quote, safe='')}" if present else ""


def _read(response: Response) -> Any:
    """The JSON of a 2xx. Raises Refused, or Unsure for an answer without a result."""
    status = response.status
    if 200 <= status < 300:
        try:
            return json.loads(response.body)
        except (ValueError, RecursionError):
            raise Unsure(f"the answer {status} is no JSON") from None
    if status == 408 or status >= 500:
        raise Unsure(f"HTTP {status}", _retry_after(response))
    raise _refusal(response)


def _refusal(response: Response) -> Refused:
    try:
        problem = json.loads(response.body)
    except (ValueError, RecursionError):
        problem = None
    raw = problem if isinstance(problem, dict) else {}
    # API Gateway's own refusals hold a `message` only. Of a wrong signature it quotes the request behind the first
    # line, with the token of the session among its headers.
    if isinstance(raw.get("message"), str):
        raw = {**raw, "message": raw["message"].partition("\n")[0]}
    detail = raw.get("detail") or raw.get("message") or f"HTTP {response.status}"
    listed = raw.get("errors")
    faults = tuple(
        Fault(str(one.get("pointer", "")), str(one.get("detail", "")))
        for one in (listed[:_MOST_FAULTS] if isinstance(listed, list) else ())
        if isinstance(one, dict)
    )
    kind = REFUSALS.get(response.status, Refused)
    refused = kind(response.status, str(detail)[:_LONGEST_DETAIL], faults, raw)
    if isinstance(refused, TooManyRequests):
        refused.retry_after = _retry_after(response)
    return refused


def _retry_after(response: Response) -> float | None:
    text = response.headers.get("retry-after", "").strip()
    return float(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _tries(count: int) -> str:
    return "1 try" if count == 1 else f"{count} tries"


def _final(
    failure: TooManyRequests | NoAnswer | Unsure, request: str, tries: int, key: str | None, *, may_be_done: bool
) -> Exception:
    if may_be_done:
        return NotCertain(f"{request}: no certain answer after {_tries(tries)}: {failure}", tries, key)
    if isinstance(failure, TooManyRequests):
        return failure
    return NotReached(f"{request}: no connection after {_tries(tries)}: {failure}", tries, key)
