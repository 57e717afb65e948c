"""Lets coupons expire at midnight where their owners live: one job a coupon, made in bulk, cancelled when redeemed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from datetime import date, datetime, time, timedelta
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from clockwork_client import Clockwork, http, job

EXPIRE = http("https://shop.example.com/expire")
TABLES = "CREATE TABLE IF NOT EXISTS coupons (code TEXT PRIMARY KEY, job TEXT, state TEXT DEFAULT 'valid')"


class Coupon(NamedTuple):
    """A coupon, the last day on which it is valid, and the time zone of its owner."""

    code: str
    last_day: date
    timezone: str

    @property
    def expires_at(self) -> datetime:
        """The first midnight after its last day, where its owner lives."""
        return datetime.combine(self.last_day + timedelta(days=1), time(), ZoneInfo(self.timezone))


def issue(db: sqlite3.Connection, cw: Clockwork, campaign: str, coupons: Iterable[Coupon]) -> list[str]:
    """Issue the coupons of a campaign; returns those whose expiry was refused, with the reason.

    Started again within a day after it died, with the same coupons, it makes no second job of any.
    """
    issued = list(coupons)
    refused = []
    for result in cw.schedule_many(_expiries(issued), key=f"issue-{campaign}"):
        code = issued[result.position].code
        if result.job is None:
            refused.append(f"{code}: {result.error}")
            continue
        with db:
            db.execute("INSERT OR IGNORE INTO coupons (code, job) VALUES (?, ?)", (code, result.job.job_id))
    return refused


def _expiries(coupons: Iterable[Coupon]) -> Iterator[dict[str, Any]]:
    for coupon in coupons:
        yield job(EXPIRE, {"coupon": coupon.code}, at=coupon.expires_at)


def redeem(db: sqlite3.Connection, cw: Clockwork, code: str) -> bool:
    """Whether the coupon was valid; it is not any more. The database decides, and the cancel only saves a webhook."""
    with db:
        taken = db.execute(
            "UPDATE coupons SET state = 'redeemed' WHERE code = ? AND state = 'valid' RETURNING job", (code,)
        ).fetchone()
    if taken is not None:
        cw.jobs.cancel(taken[0])
    return taken is not None


def expire(db: sqlite3.Connection, code: str) -> None:
    """The webhook's work. A duplicate has no further effect."""
    with db:
        db.execute("UPDATE coupons SET state = 'expired' WHERE code = ? AND state = 'valid'", (code,))
