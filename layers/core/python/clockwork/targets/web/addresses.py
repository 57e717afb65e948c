"""Addresses: the IP addresses that a webhook may reach, so that no client reaches into Clockwork's own network.

The ranges come from the IANA special-purpose registries. They are written down here because Python versions differ in
which addresses their standard library counts as global: https://www.iana.org/assignments/iana-ipv4-special-registry,
https://www.iana.org/assignments/iana-ipv6-special-registry
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

_V4 = [
    (IPv4Network(network), kind)
    for network, kind in (
        ("0.0.0.0/8", "this network itself (RFC 791)"),
        ("10.0.0.0/8", "private (RFC 1918)"),
        ("100.64.0.0/10", "shared by a carrier's customers (RFC 6598)"),
        ("127.0.0.0/8", "loopback (RFC 1122)"),
        ("169.254.0.0/16", "link-local, where clouds keep their instance metadata (RFC 3927)"),
        ("172.16.0.0/12", "private (RFC 1918)"),
        ("192.0.0.0/24", "reserved for protocols (RFC 6890)"),
        ("192.0.2.0/24", "for documentation (RFC 5737)"),
        ("192.88.99.0/24", "the former 6to4 relay (RFC 7526)"),
        ("192.168.0.0/16", "private (RFC 1918)"),
        ("198.18.0.0/15", "for benchmarks (RFC 2544)"),
        ("198.51.100.0/24", "for documentation (RFC 5737)"),
        ("203.0.113.0/24", "for documentation (RFC 5737)"),
        ("224.0.0.0/4", "multicast (RFC 5771)"),
        ("255.255.255.255/32", "broadcast (RFC 919)"),
        ("240.0.0.0/4", "reserved (RFC 1112)"),
    )
]
_V6 = [
    (IPv6Network(network), kind)
    for network, kind in (
        ("::/128", "unspecified (RFC 4291)"),
        ("::1/128", "loopback (RFC 4291)"),
        ("::/96", "an embedded IPv4 address (RFC 4291)"),
        ("::ffff:0:0/96", "a mapped IPv4 address (RFC 4291)"),
        ("::ffff:0:0:0/96", "a translated IPv4 address (RFC 2765)"),
        ("64:ff9b:1::/48", "a local translation to IPv4 (RFC 8215)"),
        ("100::/64", "discarded (RFC 6666)"),
        ("2001::/32", "a Teredo tunnel to IPv4 (RFC 4380)"),
        ("2001:2::/48", "for benchmarks (RFC 5180)"),
        ("2001::/23", "reserved for protocols (RFC 2928)"),
        ("2001:db8::/32", "for documentation (RFC 3849)"),
        ("2002::/16", "a 6to4 tunnel to IPv4 (RFC 3056)"),
        ("3fff::/20", "for documentation (RFC 9637)"),
        ("fc00::/7", "private, where clouds keep their instance metadata (RFC 4193)"),
        ("fe80::/10", "link-local (RFC 4291)"),
        ("fec0::/10", "site-local (RFC 3879)"),
        ("ff00::/8", "multicast (RFC 4291)"),
    )
]
#: The addresses of the machine itself, its neighbours on the link, and the cloud's services for this one machine.
_OWN_V4 = tuple(map(IPv4Network, ("0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16")))
#: fd00:ec2::/32: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/configuring-instance-metadata-service.html
_OWN_V6 = tuple(map(IPv6Network, ("::/128", "::1/128", "fe80::/10", "fd00:ec2::/32")))
#: The networks whose addresses hold an IPv4 address, and so many bits behind it: compatible, mapped and translated
#: (RFC 4291, 2765), NAT64 (RFC 6052), 6to4 (RFC 3056).
_EMBEDDING = tuple(
    (IPv6Network(network), behind)
    for network, behind in (
        ("::/96", 0),
        ("::ffff:0:0/96", 0),
        ("::ffff:0:0:0/96", 0),
        ("64:ff9b::/96", 0),
        ("64:ff9b:1::/48", 0),
        ("2002::/16", 80),
    )
)
#: The well-known prefix by which IPv6-only networks reach IPv4; the last 32 bits are the address (RFC 6052).
_NAT64 = IPv6Network("64:ff9b::/96")
#: All addresses that are handed out for the public Internet lie in it (RFC 4291).
_GLOBAL_UNICAST = IPv6Network("2000::/3")


@lru_cache(1_024)  # one answer per address, and a batch asks for the same ones
def check_address(ip: str) -> str | None:
    """Why Clockwork must not connect to `ip` (one address as text), as a sentence; None if it is public."""
    try:
        address = ip_address(ip)
    except ValueError:
        return f"{ip} is not an IP address."
    kind = _kind_v4(address) if isinstance(address, IPv4Address) else _kind_v6(address)
    return None if kind is None else f"{ip} is not public: it is {kind}."


@lru_cache(1_024)
def check_own(ip: str, runtime: str = "") -> str | None:
    """Why an address, private or not, is none that a client's target may have, as a sentence; None if it may be.

    It is the machine's own, or link-local; or that of Lambda's runtime, `host:port`, to which only Clockwork may talk.
    """
    try:
        address = ip_address(ip)
    except ValueError:
        return f"{ip} is not an IP address."
    forms = [address, *_embedded(address)]
    if any(any(form in network for network in _OWN_V4 + _OWN_V6) for form in forms):
        return f"{ip} leads to the machine that would connect to it, or to its link."
    own = runtime.rpartition(":")[0].strip("[]")
    return f"{ip} is the address of Lambda's runtime." if own and own in map(str, forms) else None


def _embedded(address: IPv4Address | IPv6Address) -> list[IPv4Address]:
    """The IPv4 addresses that an IPv6 address may stand for."""
    if isinstance(address, IPv4Address):
        return []
    found = [behind for network, behind in _EMBEDDING if address in network]
    return [IPv4Address(int(address) >> behind & 0xFFFF_FFFF) for behind in found]


def _kind_v4(address: IPv4Address) -> str | None:
    return next((kind for network, kind in _V4 if address in network), None)


def _kind_v6(address: IPv6Address) -> str | None:
    if address.scope_id is not None:
        return "bound to a zone of one machine (RFC 4007)"
    if address in _NAT64:
        inner = IPv4Address(int(address) & 0xFFFF_FFFF)
        kind = _kind_v4(inner)
        return None if kind is None else f"translated to {inner}, which is {kind}"
    kind = next((kind for network, kind in _V6 if address in network), None)
    if kind is None and address not in _GLOBAL_UNICAST:
        return "reserved (RFC 4291)"
    return kind
