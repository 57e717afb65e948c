"""Six hundred coupons and three time zones, in virtual time."""

import sqlite3
from datetime import date

import pytest
from coupons import TABLES, Coupon, expire, issue, redeem

MAY_DAY = date(2026, 5, 1)


@pytest.fixture
def shop(clockwork):
    db = sqlite3.connect(":memory:", check_same_thread=False)
    db.execute(TABLES)
    clockwork.on_deliver(lambda one: expire(db, one.payload["coupon"]) or 200)
    yield clockwork, db, clockwork.client("shop")
    db.close()


def states(db):
    return dict(db.execute("SELECT code, state FROM coupons"))


def test_a_coupon_expires_at_its_owners_midnight(shop):
    clockwork, db, cw = shop
    zones = {"tokyo": "Asia/Tokyo", "berlin": "Europe/Berlin", "lima": "America/Lima"}
    assert issue(db, cw, "may", [Coupon(code, MAY_DAY, zone) for code, zone in zones.items()]) == []
    clockwork.run_until("2026-05-02T06:00:00Z")
    came = [(one.payload["coupon"], f"{one.at:%d %H:%M}") for one in clockwork.deliveries]
    assert came == [("tokyo", "01 15:00"), ("berlin", "01 22:00"), ("lima", "02 05:00")]
    assert set(states(db).values()) == {"expired"}


def test_a_campaign_that_is_issued_again_makes_no_second_job_and_names_what_is_refused(shop):
    clockwork, db, cw = shop
    coupons = [Coupon(f"c{number}", MAY_DAY, "UTC") for number in range(600)]
    coupons.append(Coupon("late", date(2025, 1, 1), "UTC"))
    for _ in range(2):
        (refused,) = issue(db, cw, "may", coupons)
        assert refused.startswith("late: 422")
    clockwork.run_until("2026-05-02T01:00:00Z")
    assert len(clockwork.deliveries) == 600


def test_a_redeemed_coupon_expires_no_more(shop):
    clockwork, db, cw = shop
    issue(db, cw, "may", [Coupon("a", MAY_DAY, "UTC"), Coupon("b", MAY_DAY, "UTC")])
    assert (redeem(db, cw, "a"), redeem(db, cw, "a")) == (True, False)
    clockwork.run_until("2026-05-02T01:00:00Z")
    assert states(db) == {"a": "redeemed", "b": "expired"}
    assert [one.payload["coupon"] for one in clockwork.deliveries] == ["b"]
    assert redeem(db, cw, "b") is False
