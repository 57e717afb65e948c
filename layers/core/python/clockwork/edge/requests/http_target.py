"""An HTTP target as a request names it, and whether its client may send there."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, ValidationInfo, field_validator

from clockwork.domain.targets.permissions import against_host
from clockwork.domain.targets.urls import LONGEST_URL, MOST_HEADERS, check_headers, check_url
from clockwork.edge.http.checks import Checks, EdgeModel, checks_of, pointer_part


class HttpTargetBody(EdgeModel):
    """An HTTP endpoint."""

    type: Literal["http"]
    url: str = Field(description=f"https, at most {LONGEST_URL:,} characters, leading to a public address")
    method: Literal["POST", "PUT", "PATCH", "DELETE", "GET"] = "POST"
    headers: dict[str, str] = Field(default_factory=dict, description=f"at most {MOST_HEADERS}, 4 KiB in all")
    timeout_seconds: float = Field(15, ge=1, description="at most 30, or what the deployment allows")

    @field_validator("url")
    @classmethod
    def _leads_outside(cls, url: str, info: ValidationInfo) -> str:
        checks = checks_of(info)
        for reason in check_url(url, _private_targets(checks)).reasons:
            checks.report("/target/url", reason)
        if (unlisted := against_host(url, checks.client)) is not None:
            checks.report("/target/url", unlisted)
        return url

    @field_validator("headers")
    @classmethod
    def _may_be_sent(cls, headers: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        for name, reason in check_headers(headers):
            checks_of(info).report("/target/headers" + (pointer_part(name) if name else ""), reason)
        return headers

    @field_validator("timeout_seconds")
    @classmethod
    def _fits_a_delivery(cls, seconds: float, info: ValidationInfo) -> float:
        longest = checks_of(info).settings.target_timeout_seconds
        if seconds > longest:
            raise ValueError(f"must be at most {longest}")
        return seconds

    def is_private(self, checks: Checks) -> bool:
        """Whether the client's allowedPrivateTargets list its host and port."""
        targets = _private_targets(checks)
        # Most clients list none: their URLs are not read once more.
        return bool(targets) and check_url(self.url, targets).private


def _private_targets(checks: Checks) -> tuple[str, ...]:
    return checks.client.allowed_private_targets if checks.client is not None else ()
