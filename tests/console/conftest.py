"""The beginning of most tests of the console."""

from __future__ import annotations

import pytest

from tests.console.scenes import Shop
from tests.console.visitor import Visitor


@pytest.fixture
def shop() -> Shop:
    made = Shop()
    made.v.advance(minutes=3, seconds=10)
    return made


@pytest.fixture
def reader(shop: Shop) -> Visitor:
    return Visitor(shop.cw, shop.v).enter()
