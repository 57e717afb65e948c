"""Allowances: a client's targets may name listed names, and names with the prefix of a listed `...*`, but no others."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from clockwork.domain.clients import Client
from tests.support.examples import ACME

Allows = Callable[[tuple[str, ...], str], bool]


def _topics(listed: tuple[str, ...], name: str) -> bool:
    client: Client = msgspec.structs.replace(ACME, allowed_topics=listed)
    return client.allows("allowed_topics", name)


def _targets(listed: tuple[str, ...], name: str) -> bool:
    client: Client = msgspec.structs.replace(ACME, allowed_target_arns=listed)
    return client.allows("allowed_target_arns", name)


@pytest.mark.parametrize("allows", [_topics, _targets])
@pytest.mark.parametrize(
    ("listed", "named", "allowed"),
    [
        ((), "orders", False),
        (("orders",), "orders", True),
        (("orders",), "orders.eu", False),
        (("orders",), "order", False),
        (("orders.*",), "orders.eu", True),
        (("orders.*",), "orders.", True),
        (("orders.*",), "orders", False),
        (("orders.*",), "bills", False),
        (("bills", "orders"), "orders", True),
        (("*",), "anything", True),
    ],
)
def test_only_what_is_listed_may_be_named(allows: Allows, listed: tuple[str, ...], named: str, allowed: bool) -> None:
    assert allows(listed, named) is allowed
