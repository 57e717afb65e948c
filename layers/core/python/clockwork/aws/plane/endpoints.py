"""Where a service is.

For the plain case, a region of AWS's first partition and nothing configured, the address is written down here. In any
other case botocore is asked, which knows the rules: other partitions, FIPS, dual stack, `AWS_ENDPOINT_URL`, profiles.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec

_PLAIN_REGION = re.compile(
    r"(us|eu|ap|sa|ca|me|af|il|mx)-(north|south|east|west|central|north(ea|we)st|south(ea|we)st)-\d"
)
_UNUSUAL = ("AWS_PROFILE", "AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT", "AWS_DATA_PATH", "BOTO_CONFIG")
_FILES = (("AWS_CONFIG_FILE", "~/.aws/config"), ("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials"))
_PROXIES = ("http_proxy", "https_proxy", "all_proxy")


class Endpoint(msgspec.Struct, frozen=True):
    """The address of a service."""

    url: str
    secure: bool
    host: str
    port: int
    #: As the header `host` has it: without the port that goes without saying.
    authority: str


def endpoint_of(url: str) -> Endpoint | None:
    """The endpoint at a URL; None if it has a path, which only botocore can call."""
    parts = urlsplit(url)
    if parts.path.strip("/") or parts.query or parts.hostname is None:
        return None
    secure = parts.scheme == "https"
    usual = 443 if secure else 80
    port = parts.port or usual
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return Endpoint(url, secure, parts.hostname, port, host if port == usual else f"{host}:{port}")


def is_plain(environ: Mapping[str, str]) -> bool:
    """Whether nothing is configured but a region of AWS's first partition."""
    if any(name in environ for name in _UNUSUAL) or any(name.startswith("AWS_ENDPOINT_URL") for name in environ):
        return False
    if any(os.path.exists(os.path.expanduser(environ.get(name, usual))) for name, usual in _FILES):  # noqa: PTH110, PTH111
        return False
    return _PLAIN_REGION.fullmatch(environ.get("AWS_DEFAULT_REGION", "")) is not None


def plain_url(service: str, region: str) -> str:
    """The URL of a service in a region of AWS's first partition."""
    return f"https://{service}.{region}.amazonaws.com"


def has_proxy(environ: Mapping[str, str]) -> bool:
    """Whether calls may have to go through a proxy, which only botocore can do."""
    return any(name.lower() in _PROXIES and value for name, value in environ.items())
