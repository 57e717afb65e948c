"""Wherever the shop or its relay dies, an order has just one reminder, and no order has none."""

import sqlite3

import pytest
from shop import TABLES, place, relay


class Dies(sqlite3.Connection):
    """A database whose process dies before its n-th statement."""

    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        self.left = 1_000

    def execute(self, *args):
        self.left -= 1
        if self.left < 0:
            raise SystemExit
        return super().execute(*args)


@pytest.fixture
def db():
    connection = sqlite3.connect(":memory:", factory=Dies)
    connection.executescript(TABLES)
    yield connection
    connection.close()


def orders(db):
    return [number for (number,) in db.execute("SELECT number FROM orders ORDER BY number")]


@pytest.mark.parametrize("statement", range(2))
def test_a_shop_that_dies_has_neither_order_nor_reminder(clockwork, db, statement):
    db.left = statement
    with pytest.raises(SystemExit):
        place(db, 17, clockwork.now)
    db.left = 1_000
    assert orders(db) == []
    assert relay(db, clockwork.client("shop")) == 0


@pytest.mark.parametrize("statement", range(3))
def test_a_relay_that_dies_goes_on_without_a_second_reminder(clockwork, db, statement):
    cw = clockwork.client("shop")
    for number in (17, 18):
        place(db, number, clockwork.now)
    db.left = statement
    try:
        relay(db, cw)
    except SystemExit:
        db.left = 1_000
        relay(db, cw)
    clockwork.advance(days=3)
    assert sorted(one.payload["order"] for one in clockwork.deliveries) == [17, 18]


def test_what_is_refused_stays_with_the_reason_and_stops_nobody(clockwork, db):
    db.execute("INSERT INTO outbox VALUES ('broken', '{}', NULL)")
    place(db, 17, clockwork.now)
    assert relay(db, clockwork.client("shop")) == 1
    ((key, reason),) = db.execute("SELECT key, refused FROM outbox")
    assert (key, reason[:3]) == ("broken", "422")
