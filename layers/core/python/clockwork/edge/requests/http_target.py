"""An HTTP target as a request names it, and whether its client may send there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from msgspec import Meta, field

from clockwork.domain.targets.permissions import against_host
from clockwork.domain.targets.urls import LONGEST_URL, MOST_HEADERS, check_headers, check_url, parse, why_own
from clockwork.edge.http.checks import Checks, pointer_part
from clockwork.edge.http.forms import Earlier, FieldCheck, TargetForm


def _leads_outside(url: str, checks: Checks, _: Earlier) -> str:
    check = check_url(url, _private_targets(checks))
    for reason in check.reasons:
        checks.report("/target/url", reason)
    # The client's list may be from a stage `local`.
    is_asked = check.private and checks.settings.stage != "local"
    if is_asked and (own := why_own(parse(url), checks.settings.runtime_api)) is not None:
        checks.report("/target/url", f"cannot be delivered to: {own}")
    if (unlisted := against_host(url, checks.client)) is not None:
        checks.report("/target/url", unlisted)
    return url


def _may_be_sent(headers: dict[str, str], checks: Checks, _: Earlier) -> dict[str, str]:
    for name, reason in check_headers(headers):
        checks.report("/target/headers" + (pointer_part(name) if name else ""), reason)
    return headers


def _fits_a_delivery(seconds: float, checks: Checks, _: Earlier) -> float:
    longest = checks.settings.target_timeout_seconds
    if seconds > longest:
        raise ValueError(f"must be at most {longest}")
    return seconds


class HttpTargetBody(TargetForm, tag="http"):
    """An HTTP endpoint."""

    url: Annotated[str, Meta(description=f"https, at most {LONGEST_URL:,} characters, leading to a public address")]
    method: Literal["POST", "PUT", "PATCH", "DELETE", "GET"] = "POST"
    headers: Annotated[dict[str, str], Meta(description=f"at most {MOST_HEADERS}, 4 KiB in all")] = field(
        default_factory=dict
    )
    timeout_seconds: Annotated[float, Meta(ge=1, description="at most 30, or what the deployment allows")] = 15

    field_checks: ClassVar[Mapping[str, FieldCheck]] = {
        "url": _leads_outside,
        "headers": _may_be_sent,
        "timeout_seconds": _fits_a_delivery,
    }

    def is_private(self, checks: Checks) -> bool:
        """Whether the client's allowedPrivateTargets list its host and port."""
        targets = _private_targets(checks)
        # Most clients list none: their URLs are not read once more.
        return bool(targets) and check_url(self.url, targets).private


def _private_targets(checks: Checks) -> tuple[str, ...]:
    return checks.client.allowed_private_targets if checks.client is not None else ()
