"""HTTP targets, as they are stored and as requests name them. `aws/targets/http.py` calls them."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Self
from urllib.parse import urlsplit

import msgspec

from clockwork.domain.clients import Client
from clockwork.settings import Settings
from clockwork.targets.target import Asked, Asking, Earlier, StoredTarget
from clockwork.targets.web.urls import (
    LONGEST_URL,
    MOST_HEADERS,
    InvalidUrl,
    check_headers,
    check_url,
    cost_of,
    is_listed,
    parse,
    why_own,
)


def _leads_outside(url: str, asking: Asking, _: Earlier) -> str:
    asking.spend(cost_of(url), "")
    check = check_url(url, _private_targets(asking.client))
    reasons = list(check.reasons)
    # The client's list may be from a stage `local`.
    if check.private and asking.settings.stage != "local":
        own = why_own(parse(url), asking.settings.runtime_api)
        reasons += [] if own is None else [f"cannot be delivered to: {own}"]
    for reason in (*reasons, _against_host(url, asking.client)):
        if reason is not None:
            asking.report("/target/url", reason)
    return url


def _may_be_sent(headers: dict[str, str], asking: Asking, _: Earlier) -> dict[str, str]:
    for name, reason in check_headers(headers):
        asking.report("/target/headers", reason, name)
    return headers


def _fits_a_delivery(seconds: float, asking: Asking, _: Earlier) -> float:
    longest = asking.settings.target_timeout_seconds
    if seconds > longest:
        others = "" if longest >= LONGEST_SECONDS else f" in this deployment, and {LONGEST_SECONDS} in others"
        raise ValueError(f"must be at most {longest}{others}")
    return seconds


#: The longest `timeoutSeconds` of a deployment that does not say otherwise. The development server has less.
LONGEST_SECONDS = 30


class HttpTarget(StoredTarget, frozen=True, tag="http"):
    """An HTTP endpoint."""

    url: Annotated[
        str,
        Asked(
            check=_leads_outside,
            description=f"https, at most {LONGEST_URL:,} characters, leading to a public address",
        ),
    ]
    method: Annotated[str, Asked(values=("POST", "PUT", "PATCH", "DELETE", "GET"))] = "POST"
    headers: Annotated[
        dict[str, str], Asked(check=_may_be_sent, description=f"at most {MOST_HEADERS}, 4 KiB in all")
    ] = msgspec.field(default_factory=dict)
    timeout_seconds: Annotated[
        float, Asked(check=_fits_a_delivery, ge=1, description="at most 30, or what the deployment allows")
    ] = 15
    #: The client's allowedPrivateTargets listed this host and port at create: http and private addresses are allowed.
    private: bool = False
    #: The trace context of the create, which its deliveries go on with. Empty: each delivery has its own.
    traceparent: str = ""

    shown_as: ClassVar[str] = "An HTTP endpoint."
    is_signed: ClassVar[bool] = True

    @classmethod
    def kept(cls, asked: Any, asking: Asking) -> dict[str, Any]:
        """Whether the client's allowedPrivateTargets list its host and port, and the trace of the request."""
        targets = _private_targets(asking.client)
        # Most clients list none: their URLs are not read once more.
        is_private = bool(targets) and check_url(asked.url, targets).private
        return {"private": is_private, "traceparent": asking.traceparent}

    def against(self, client: Client | None) -> str | None:
        """Why the client may not call its host and port any more."""
        if self.private and not check_url(self.url, _private_targets(client)).private:
            return f"{self.url} leads to a host and port that the client's allowedPrivateTargets do not list"
        reason = _against_host(self.url, client)
        return None if reason is None else f"{self.url} {reason}"

    def hint(self) -> Self:
        """The same without its path, headers, method and trace."""
        try:
            parts = urlsplit(self.url)
        except ValueError:
            return self  # No attempt at it begins, and its circuit is told by the whole URL.
        url = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}/"
        return msgspec.structs.replace(self, url=url, method="POST", headers={}, traceparent="")

    @property
    def host(self) -> str | None:
        """The host as the Host header names it.

        A stored URL that `parse` refuses has none: its attempt fails permanently, so no host is to blame.
        """
        try:
            return parse(self.url).host_header
        except InvalidUrl:
            return None

    @property
    def lane(self) -> str:
        """Private targets have a deliverer in their network."""
        return "private" if self.private else ""

    def seconds(self, settings: Settings) -> float:
        """How long an attempt may take (s).

        An attempt of a job made under longer bounds is cut at today's bound: otherwise it would be put off for ever.
        """
        return min(self.timeout_seconds, settings.target_timeout_seconds)


def _against_host(url: str, client: Client | None) -> str | None:
    """Why the client may not call the URL's host. A client that lists no host may call any."""
    if client is None or is_listed(url, client):
        return None
    return "leads to a host that the client's allowedTargetHosts do not list"


def _private_targets(client: Client | None) -> tuple[str, ...]:
    return client.allowed_private_targets if client is not None else ()
