"""`make url-exhaustive`: every code point in a host, read by the check of creates and by every later reader."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from urllib3.util import parse_url

from clockwork.domain.limits.circuits import host_of
from clockwork.targets.http import HttpTarget
from clockwork.targets.web.urls import check_url, parse


def disagreements(characters: Iterable[str]) -> list[str]:
    """The URLs that the check accepts and a later reader refuses, or reads as another host's."""
    return [
        url for url in map("https://a{}b.example.com/x".format, characters) if _is_accepted(url) and not _agree(url)
    ]


def _is_accepted(url: str) -> bool:
    return not check_url(url, ()).reasons


def _agree(url: str) -> bool:
    endpoint = parse(url)
    again = parse_url(f"https://{endpoint.authority}{endpoint.path}")
    return endpoint.host.isascii() and again.host == endpoint.host == host_of(HttpTarget(url))


def main() -> int:
    """Every code point; 1 if readers disagree about one."""
    found = disagreements(map(chr, range(0x110000)))
    print("\n".join(map(ascii, found)))
    print(f"{0x110000:,} code points, {len(found)} disagreements")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
