"""`clockwork doctor`: checks everything between this machine and the API. Each finding says what to do."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from datetime import timezone
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from clockwork_client.cli import standing
from clockwork_client.cli.standing import Finding
from clockwork_client.client import Clockwork
from clockwork_client.errors import ClockworkError, NotAllowed, NotConfigured
from clockwork_client.transport import NoAnswer, Request, Response, Transport, Urllib3

if TYPE_CHECKING:
    from clockwork_client.cli.state import State

#: AWS refuses a signature that is five minutes off. A minute shows that nothing sets the clock.
REFUSED_SECONDS, ODD_SECONDS = 300, 60
_PROBLEM = "detail"


class Noting:
    """A transport that notes when the last answer came, and its date."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.skew: float | None = None

    def __call__(self, request: Request) -> Response:
        """Send a request once."""
        began = time.time()
        response = self._transport(request)
        date = response.headers.get("date")
        if date is not None:
            try:
                told = parsedate_to_datetime(date).replace(tzinfo=timezone.utc).timestamp()
            except ValueError:
                return response
            # The date has whole seconds, and was made while this machine waited.
            self.skew = (began + time.time()) / 2 - (told + 0.5)
        return response


def examine(state: State) -> Iterator[Finding]:
    """The findings, from the needs of every call to those of single clients.

    Ends where no further check makes sense.
    """
    try:
        first = state.cw
    except NotConfigured as error:
        yield Finding("url", False, str(error), "export CLOCKWORK_URL=https://..., the output ApiUrl of the stack")
        return
    yield Finding("url", True, first.url)
    transport = Noting(state.settings.get("transport") or Urllib3(first.url))
    cw = Clockwork(**{**state.settings, "transport": transport})
    yield (credentials := _credentials(cw))
    yield (reached := _reached(cw, transport))
    if not reached.is_ok:
        return
    yield _clock(transport.skew)
    if not credentials.is_ok:
        return
    yield (permitted := _permission(cw))
    if permitted.is_ok:
        yield from standing.of_client(cw)
        yield from standing.of_deployment(cw)


def _credentials(cw: Clockwork) -> Finding:
    try:
        source = cw.signer.source()
    except NotConfigured as error:
        return Finding("credentials", False, str(error), "log in as for the AWS CLI, or give --profile and --region")
    return Finding("credentials", True, f"from {source}, for {cw.signer.region}")


def _reached(cw: Clockwork, transport: Transport) -> Finding:
    """Whether the URL answers a request without a signature; a refusal counts."""
    try:
        status = transport(Request("GET", f"{cw.url}/v1/health", {}, None, 5.0)).status
    except NoAnswer as error:
        host = urlsplit(cw.url).hostname
        return Finding("network", False, f"{host} does not answer: {error}", "check the URL, DNS, proxy and network")
    return Finding("network", True, f"an answer came (HTTP {status})")


def _clock(skew: float | None) -> Finding:
    if skew is None:
        return Finding("clock", True, "the answer has no date to compare with")
    side = "ahead" if skew > 0 else "behind"
    told = f"{abs(skew):.0f} s {side} of the API's"
    if abs(skew) < ODD_SECONDS:
        return Finding("clock", True, told)
    fatal = ": AWS refuses signatures from 300 s on" if abs(skew) >= REFUSED_SECONDS else ""
    return Finding("clock", False, told + fatal, "set the clock, for example by NTP")


def _permission(cw: Clockwork) -> Finding:
    """Whether IAM lets the caller call the API, which then names the caller's principal."""
    try:
        cw.description()
    except NotAllowed as error:
        if _PROBLEM in error.raw:
            return Finding("permission", False, error.detail, "the URL does not lead to Clockwork's API directly")
        if re.search("[Ss]ignature|token|expired", error.detail):
            return Finding("permission", False, error.detail, "log in again, and compare --region with the URL")
        return Finding(
            "permission",
            False,
            error.detail,
            "give the caller execute-api:Invoke on the API in IAM, or another --profile",
        )
    except ClockworkError as error:
        return Finding("permission", False, str(error), "is this the URL of Clockwork's API?")
    return Finding("permission", True, "IAM lets the caller through")
