"""A spring of settlements in a second: a clock that changes, a bank that is away, a webhook that comes twice."""

import sqlite3

import pytest
from settlement import Settlements, enrol, redrive

from clockwork_client.testing import VirtualClockwork

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


class Bank:
    def __init__(self):
        self.payments, self.is_away = {}, False

    def pay(self, shop, key):
        if self.is_away:
            raise ConnectionError
        self.payments.setdefault(key, shop)


@pytest.fixture
def place():
    v = VirtualClockwork(at="2026-03-06T12:00:00Z", signing_secrets={"clockwork/shops": SECRET})
    bank = Bank()
    ours = Settlements(sqlite3.connect(":memory:", check_same_thread=False), [SECRET], bank.pay)
    v.on_deliver(lambda one: ours.receive(one.headers, one.body, one.payload["shop"], now=one.at.timestamp()))
    cw = v.client("shops", signingSecrets=["clockwork/shops"])
    for shop, timezone in (("new-york", "America/New_York"), ("berlin", "Europe/Berlin")):
        enrol(cw, shop, timezone)
    return v, cw, bank, ours


def settled(ours, shop):
    return [due for (due,) in ours.db.execute("SELECT due FROM settled WHERE shop = ? ORDER BY due", (shop,))]


def test_each_night_is_settled_once_also_when_two_o_clock_does_not_exist(place):
    v, _, bank, ours = place
    v.run_until("2026-03-10T12:00:00Z")
    # On 8 March there is no 02:00 in New York: it is settled at 03:00, which is 07:00 in UTC.
    assert settled(ours, "new-york") == [f"2026-03-{day}:00:00+00:00" for day in ("07T07", "08T07", "09T06", "10T06")]
    assert settled(ours, "berlin") == [f"2026-03-{day}T01:00:00+00:00" for day in ("07", "08", "09", "10")]
    assert len(bank.payments) == 8


def test_nights_without_a_bank_are_settled_when_it_is_back(place):
    v, cw, bank, ours = place
    bank.is_away = True
    v.run_until("2026-03-08T12:00:00Z")
    assert [one.state for one in cw.dead] == ["DEAD"] * 4
    bank.is_away = False
    assert redrive(cw, at_most=3) == 4
    v.advance(minutes=10)
    assert len(settled(ours, "berlin")) == len(settled(ours, "new-york")) == 2
    assert list(cw.dead) == []


def test_a_webhook_that_comes_twice_pays_once(place):
    v, _, bank, ours = place
    v.run_until("2026-03-07T12:00:00Z")
    first = v.deliveries[0]
    assert ours.receive(first.headers, first.body, "berlin", now=first.at.timestamp()) == 200
    assert len(bank.payments) == 2
