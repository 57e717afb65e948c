"""The beginning of most tests of the console."""

from __future__ import annotations

import pytest

from tests.console.chromium import lacks
from tests.console.scenes import Shop
from tests.console.visitor import Visitor

#: Pages are also looked at in a browser, where there is one. `make console-test` fails without it.
collect_ignore = ["browser"] if lacks() else []


@pytest.fixture
def shop() -> Shop:
    made = Shop()
    made.v.advance(minutes=3, seconds=10)
    return made


@pytest.fixture
def reader(shop: Shop) -> Visitor:
    return Visitor(shop.cw, shop.v).enter()
