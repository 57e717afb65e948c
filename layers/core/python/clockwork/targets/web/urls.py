"""URLs and headers of HTTP targets: the checks at create, and the one parser of URLs.

The delivery parses a URL with the same `parse` that checked it, so that the two cannot disagree about its host.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from ipaddress import ip_address

import msgspec

from clockwork.domain.clients import Client
from clockwork.targets.web.addresses import check_address, check_own

LONGEST_URL = 2_048
#: The bounds of the DNS on a name and on each of its labels: https://www.rfc-editor.org/rfc/rfc1035#section-2.3.4
LONGEST_HOST, LONGEST_LABEL = 253, 63
#: The cost of a URL's check in units of about a microsecond: that of any URL, and of each character of a host that is
#: not ASCII. Eight characters of a URL cost one unit.
COST_OF_URL, COST_OF_CHARACTER = 20, 20
MOST_HEADERS = 20
LARGEST_HEADERS = 4_096
DEFAULT_PORTS = {"https": 443, "http": 80}

_SPACE_OR_CONTROL = re.compile(r"[\x00-\x20\x7f]")
_OUTSIDE_RFC_3986 = re.compile(r"[^A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]")
_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/?#]*)(?P<path>[^?#]*)(?P<query>\?[^#]*)?")
_AUTHORITY = re.compile(r"(?P<host>\[[^\]]*\]|[^:\[\]]*)(?::(?P<port>[0-9]{1,5}))?")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
#: Resolvers read a host with such a last label as a number: https://url.spec.whatwg.org/#ends-in-a-number-checker
_NUMERIC = re.compile(r"[0-9]+|0x[0-9a-f]*")
#: The standard library's IDNA (2003) would turn these into another name than today's registries do (UTS #46).
_DOTS = re.compile("[.\u3002\uff0e\uff61]")
_IDNA_DEVIATIONS = frozenset("ßẞς\u200c\u200d")
_LOCAL_SUFFIXES = (".localhost", ".local", ".internal")

_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e]*")
_RESERVED_HEADERS = frozenset(
    ("host", "content-length", "transfer-encoding", "connection", "keep-alive", "te", "trailer", "upgrade", "expect")
)
_RESERVED_PREFIXES = ("proxy-", "webhook-", "clockwork-")


class InvalidUrl(ValueError):
    """Clockwork cannot deliver to the URL. The message says why, as the end of a sentence that begins with the URL."""


class Endpoint(msgspec.Struct, frozen=True):
    """The parts of a URL. `host` is lower-case ASCII without brackets; `path` begins with `/` and holds the query."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """`host:port`, an IPv6 address in brackets: the form of `allowedPrivateTargets`."""
        return f"{self._bracketed}:{self.port}"

    @property
    def any_port(self) -> str:
        """`host:*`, the form of `allowedPrivateTargets` that stands for every port of the host."""
        return f"{self._bracketed}:*"

    @property
    def host_header(self) -> str:
        """The value of the Host header: the port is left out where it is the scheme's own."""
        return self._bracketed if self.port == DEFAULT_PORTS[self.scheme] else self.authority

    @property
    def is_literal(self) -> bool:
        """True if the host is an IP address and not a name."""
        return ":" in self.host or _NUMERIC.fullmatch(self.host.rpartition(".")[2]) is not None

    @property
    def _bracketed(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host


class UrlCheck(msgspec.Struct, frozen=True):
    """The faults of a URL (each the end of a sentence), and whether it may lead to a private address."""

    reasons: tuple[str, ...]
    private: bool = False


def cost_of(url: str) -> int:
    """The work of all checks of a URL in a request (units of about a microsecond), told before any of them."""
    is_long = len(url) > LONGEST_URL
    return COST_OF_URL if is_long else COST_OF_URL + len(url) // 8 + COST_OF_CHARACTER * _costly(url)


def check_url(url: str, allowed_private: Collection[str]) -> UrlCheck:
    """Check the URL of a target. `allowed_private` lists `host:port`; only these may use http or be not public.

    `host:*` stands for every port of the host.
    """
    try:
        endpoint = parse(url)
    except InvalidUrl as fault:
        return UrlCheck((str(fault),))
    if _is_private(endpoint, allowed_private):
        return UrlCheck((), private=True)
    return UrlCheck(tuple(_reasons_against(endpoint)))


def is_listed(url: str, client: Client) -> bool:
    """Whether the client may call the URL's host, by its `allowed_target_hosts`.

    A client that lists no host may call any host. It may call its `allowed_private_targets` in any case.
    `*.example.com` stands for every name below example.com and not for example.com itself. An invalid URL is not
    judged: True.
    """
    if not client.allowed_target_hosts:
        return True
    try:
        endpoint = parse(url)
    except InvalidUrl:
        return True
    if _is_private(endpoint, client.allowed_private_targets):
        return True
    return any(
        endpoint.host.endswith(listed[1:]) if listed.startswith("*.") else endpoint.host == listed
        for listed in client.allowed_target_hosts
    )


@lru_cache(256)  # a delivery asks three times, and a batch for the same ones
def parse(url: str) -> Endpoint:
    """The parts of a URL, accepting only one spelling of each.

    Raises InvalidUrl for a URL that two readers might read differently.
    """
    if len(url) > LONGEST_URL:
        raise InvalidUrl(f"has {len(url):,} characters, at most {LONGEST_URL:,} are allowed")
    if _SPACE_OR_CONTROL.search(url) is not None:
        raise InvalidUrl("holds white space or a control character: percent-encode it")
    match = _URL.match(url)
    if match is None or match["scheme"].lower() not in DEFAULT_PORTS:
        raise InvalidUrl("must start with https:// (http:// only for the client's allowedPrivateTargets)")
    if "#" in url:
        raise InvalidUrl("has a fragment (#...), which is never sent: leave it out")
    if "@" in match["authority"]:
        raise InvalidUrl("holds credentials: send them in a header instead")
    path = f"{match['path'] or '/'}{match['query'] or ''}"
    if (stray := _OUTSIDE_RFC_3986.search(path)) is not None:
        raise InvalidUrl(f"holds {stray[0]!r} after the host: percent-encode it")
    scheme = match["scheme"].lower()
    return Endpoint(scheme, *_parse_authority(match["authority"], DEFAULT_PORTS[scheme]), path)


def check_headers(headers: Mapping[str, str]) -> list[tuple[str, str]]:
    """The faults of a target's headers, as (name, end of a sentence); the name is empty for all headers together."""
    faults = [(name, fault) for name, value in headers.items() if (fault := _fault_of_header(name, value))]
    faults += [(name, "is there twice: names differ in more than case, `-` and `_`") for name in _repeated(headers)]
    if len(headers) > MOST_HEADERS:
        faults.append(("", f"holds {len(headers)} headers, at most {MOST_HEADERS} are allowed"))
    size = sum(len(name.encode()) + len(value.encode()) for name, value in headers.items())
    if size > LARGEST_HEADERS:
        faults.append(("", f"has {size:,} bytes of names and values, at most {LARGEST_HEADERS:,} are allowed"))
    return faults


def _is_private(endpoint: Endpoint, allowed_private: Collection[str]) -> bool:
    return not {endpoint.authority, endpoint.any_port}.isdisjoint(one.lower() for one in allowed_private)


def _parse_authority(authority: str, default_port: int) -> tuple[str, int]:
    match = _AUTHORITY.fullmatch(authority)
    if match is None:
        raise InvalidUrl("must have the form https://host:port/path, the port from 1 to 65535")
    port = int(match["port"] or default_port)
    if not 1 <= port <= 65_535:
        raise InvalidUrl(f"has the port {port}, which is out of 1-65535")
    host = match["host"]
    return (_parse_v6(host[1:-1]) if host.startswith("[") else _parse_name(host)), port


def _parse_v6(text: str) -> str:
    try:
        address = ip_address(text)
    except ValueError:
        raise InvalidUrl(f"has the host [{text}], which is not an IPv6 address") from None
    if address.version != 6 or "%" in text:
        raise InvalidUrl(f"has the host [{text}]: brackets hold an IPv6 address without a zone")
    return str(address)


def _parse_name(text: str) -> str:
    host = _to_ascii(text).lower()
    if not host:
        raise InvalidUrl("names no host")
    if len(host) > LONGEST_HOST or not all(_LABEL.fullmatch(label) for label in host.split(".")):
        raise InvalidUrl(f"has the host {text!r}, which is no host name (letters, digits and '-', no dot at the end)")
    if _NUMERIC.fullmatch(host.rpartition(".")[2]) and not _is_dotted_quad(host):
        raise InvalidUrl(f"has the host {text!r}: write an IPv4 address as four decimal numbers")
    return host


def _to_ascii(host: str) -> str:
    """The host in the ASCII form that is looked up: by IDNA 2003 where today's IDNA agrees with it.

    Raises InvalidUrl where they differ. The host is bounded before it is normalised, which takes long, and once more
    before IDNA looks at each character: one may become eighteen.
    """
    if host.isascii():
        return host
    try:
        if not _is_bounded(host) or not _is_bounded(unicodedata.normalize("NFKC", host)):
            raise UnicodeError
        if not _IDNA_DEVIATIONS.isdisjoint(host) or _is_mapped_since(host):
            raise UnicodeError
        return host.encode("idna").decode("ascii")
    except UnicodeError:
        raise InvalidUrl(f"has the host {host!r}: write it in its ASCII form (xn--...)") from None


def _is_bounded(host: str) -> bool:
    return len(host) <= LONGEST_HOST and all(len(label) <= LONGEST_LABEL for label in _DOTS.split(host))


def _costly(url: str) -> int:
    """The characters of the host that are normalised; 0 if it is ASCII, or too long."""
    if url.isascii() or (match := _URL.match(url)) is None or match["authority"].isascii():
        return 0
    return min(len(match["authority"]), LONGEST_HOST)


def _is_mapped_since(host: str) -> bool:
    """Whether a later Unicode than that of IDNA 2003 (3.2) reads the host as another: U+FE16 as `?`, for example."""
    return unicodedata.normalize("NFKC", host) != unicodedata.ucd_3_2_0.normalize("NFKC", host)


def _is_dotted_quad(host: str) -> bool:
    try:
        return str(ip_address(host)) == host
    except ValueError:
        return False


def _reasons_against(endpoint: Endpoint) -> Iterable[str]:
    remedy = f"(unless the client's allowedPrivateTargets hold {endpoint.authority})"
    if endpoint.scheme != "https":
        yield f"must start with https:// {remedy}"
    if (reason := why_not_public(endpoint)) is not None:
        yield f"must lead to a public address {remedy}: {reason}"


def why_not_public(endpoint: Endpoint) -> str | None:
    """Why a host cannot be public, as a sentence without its end; None if it may be: a name is not resolved here."""
    if endpoint.is_literal:
        reason = check_address(endpoint.host)
        return None if reason is None else reason.rstrip(".")
    is_local = "." not in endpoint.host or endpoint.host.endswith(_LOCAL_SUFFIXES)
    return f"{endpoint.host} is a local name" if is_local else None


def why_own(endpoint: Endpoint, runtime: str) -> str | None:
    """Why a host is that of the machine which would connect to it, as `check_own` says; None if it may be another."""
    if endpoint.is_literal:
        reason = check_own(endpoint.host, runtime)
        return None if reason is None else reason.rstrip(".")
    is_own = endpoint.host == "localhost" or endpoint.host.endswith(".localhost")
    return f"{endpoint.host} is the machine itself (RFC 6761)" if is_own else None


def _fault_of_header(name: str, value: str) -> str | None:
    lowered = _folded(name)
    if not _HEADER_NAME.fullmatch(name):
        return "is no header name: letters, digits and !#$%&'*+-.^_`|~ are allowed"
    if lowered in _RESERVED_HEADERS or lowered.startswith(_RESERVED_PREFIXES):
        return "is set by Clockwork or by HTTP itself and cannot be chosen"
    if not _HEADER_VALUE.fullmatch(value):
        return "has a value with other characters than printable ASCII"
    return None


def _folded(name: str) -> str:
    """The name as a receiver may see it: CGI and its heirs write `-` and `_` alike, so `webhook_id` passes for ours."""
    return name.lower().replace("_", "-")


def _repeated(names: Iterable[str]) -> Iterable[str]:
    seen: set[str] = set()
    for name in names:
        if _folded(name) in seen:
            yield name
        seen.add(_folded(name))
