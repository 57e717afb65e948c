"""Addresses: every kind that a webhook must not reach is refused by its name."""

from __future__ import annotations

import pytest

from clockwork.targets.web.addresses import check_address

PUBLIC = {
    "IPv4": "93.184.215.14",
    "IPv4 beside 10/8": "11.0.0.1",
    "IPv4 before 10/8": "9.255.255.255",
    "IPv4 beside carrier-grade NAT": "100.128.0.1",
    "IPv4 before carrier-grade NAT": "100.63.255.255",
    "IPv4 beside loopback": "128.0.0.1",
    "IPv4 beside link-local": "169.255.0.1",
    "IPv4 beside 172.16/12": "172.32.0.1",
    "IPv4 before 172.16/12": "172.15.255.255",
    "IPv4 beside 192.168/16": "192.169.0.1",
    "IPv4 beside benchmarks": "198.20.0.1",
    "IPv4 before multicast": "223.255.255.255",
    "IPv6": "2606:4700::6810:84e5",
    "IPv6 of the protocols' neighbour": "2001:4860:4860::8888",
    "IPv6 beside 6to4": "2003::1",
    "NAT64 of a public address": "64:ff9b::5db8:d70e",
}

REFUSED = {
    "unspecified": ("0.0.0.0", "this network itself"),
    "0/8": ("0.1.2.3", "this network itself"),
    "private 10/8, first": ("10.0.0.0", "private"),
    "private 10/8, last": ("10.255.255.255", "private"),
    "private 172.16/12, first": ("172.16.0.0", "private"),
    "private 172.16/12, last": ("172.31.255.255", "private"),
    "private 192.168/16": ("192.168.1.1", "private"),
    "carrier-grade NAT, first": ("100.64.0.0", "carrier"),
    "carrier-grade NAT, last": ("100.127.255.255", "carrier"),
    "loopback": ("127.0.0.1", "loopback"),
    "loopback, last": ("127.255.255.255", "loopback"),
    "link-local": ("169.254.1.1", "link-local"),
    "EC2 instance metadata": ("169.254.169.254", "metadata"),
    "ECS task credentials": ("169.254.170.2", "metadata"),
    "protocol assignments 192.0.0/24": ("192.0.0.8", "protocols"),
    "documentation 192.0.2/24": ("192.0.2.1", "documentation"),
    "documentation 198.51.100/24": ("198.51.100.1", "documentation"),
    "documentation 203.0.113/24": ("203.0.113.1", "documentation"),
    "6to4 relay": ("192.88.99.1", "6to4"),
    "benchmarks, first": ("198.18.0.0", "benchmarks"),
    "benchmarks, last": ("198.19.255.255", "benchmarks"),
    "multicast, first": ("224.0.0.1", "multicast"),
    "multicast, last": ("239.255.255.255", "multicast"),
    "reserved": ("240.0.0.1", "reserved"),
    "broadcast": ("255.255.255.255", "broadcast"),
    "IPv6 unspecified": ("::", "unspecified"),
    "IPv6 loopback": ("::1", "loopback"),
    "IPv6 loopback written out": ("0:0:0:0:0:0:0:1", "loopback"),
    "IPv4-mapped loopback": ("::ffff:127.0.0.1", "mapped"),
    "IPv4-mapped metadata in hex": ("::ffff:a9fe:a9fe", "mapped"),
    "IPv4-mapped public": ("::ffff:93.184.215.14", "mapped"),
    "IPv4-compatible loopback": ("::127.0.0.1", "embedded"),
    "IPv4-compatible public": ("::93.184.215.14", "embedded"),
    "IPv4-translated": ("::ffff:0:127.0.0.1", "translated"),
    "NAT64 of loopback": ("64:ff9b::127.0.0.1", "127.0.0.1, which is loopback"),
    "NAT64 of metadata": ("64:ff9b::169.254.169.254", "metadata"),
    "NAT64 of private": ("64:ff9b::10.0.0.1", "private"),
    "NAT64 local prefix": ("64:ff9b:1::5db8:d70e", "local translation"),
    "NAT64 prefix, but longer than /96": ("64:ff9b::1:5db8:d70e", "reserved"),
    "discard": ("100::1", "discarded"),
    "Teredo": ("2001::1", "Teredo"),
    "IPv6 benchmarks": ("2001:2::1", "benchmarks"),
    "ORCHIDv2": ("2001:20::1", "protocols"),
    "IPv6 documentation": ("2001:db8::1", "documentation"),
    "IPv6 documentation, newer": ("3fff::1", "documentation"),
    "6to4 of loopback": ("2002:7f00:1::", "6to4"),
    "6to4 of a public address": ("2002:5db8:d70e::1", "6to4"),
    "segment routing": ("5f00::1", "reserved"),
    "unique local fc00": ("fc00::1", "private"),
    "unique local fd00": ("fdff::1", "private"),
    "EC2 instance metadata over IPv6": ("fd00:ec2::254", "metadata"),
    "link-local IPv6": ("fe80::1", "link-local"),
    "link-local IPv6, last": ("febf::1", "link-local"),
    "site-local": ("fec0::1", "site-local"),
    "IPv6 multicast": ("ff02::1", "multicast"),
    "never assigned": ("4000::1", "reserved"),
    "with a zone": ("fe80::1%eth0", "zone"),
    "public with a zone": ("2606:4700::1%1", "zone"),
    "decimal": ("2130706433", "not an IP address"),
    "hexadecimal": ("0x7f.0.0.1", "not an IP address"),
    "octal": ("0177.0.0.1", "not an IP address"),
    "short": ("127.1", "not an IP address"),
    "a name": ("localhost", "not an IP address"),
    "empty": ("", "not an IP address"),
}


@pytest.mark.parametrize("ip", PUBLIC.values(), ids=PUBLIC.keys())
def test_a_public_address_is_accepted(ip: str) -> None:
    assert check_address(ip) is None


@pytest.mark.parametrize(("ip", "kind"), REFUSED.values(), ids=REFUSED.keys())
def test_an_address_that_is_not_public_is_refused_with_its_kind(ip: str, kind: str) -> None:
    reason = check_address(ip) or ""
    assert reason.startswith(ip)
    assert kind in reason
    assert reason.endswith(".")
