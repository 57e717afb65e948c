"""Settles the day of each shop at two in the morning there, once; what the bank did not take is redriven by day."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping

from clockwork_client import Clockwork, Job, http, retry, verify_webhook

SETTLE = http("https://shops.example.com/settle")


def enrol(cw: Clockwork, shop: str, timezone: str) -> Job:
    """From now on, settle each day of a shop. The same call again changes nothing."""
    return cw.schedule(
        SETTLE,
        {"shop": shop},
        key=f"settle-{shop}",
        cron="0 2 * * *",
        timezone=timezone,
        catch_up="all",  # after a pause each night is settled, not the last one alone
        retry=retry(max_attempts=3, initial_seconds=60, jitter="none"),
    )


class Settlements:
    """The settled days, by execution. `pay` asks the bank, under a key of its own so that it pays once."""

    def __init__(self, db: sqlite3.Connection, secrets: list[str], pay: Callable[[str, str], None]) -> None:
        self.db, self.secrets, self.pay = db, secrets, pay
        db.execute("CREATE TABLE IF NOT EXISTS settled (execution TEXT PRIMARY KEY, shop TEXT, due TEXT)")

    def receive(self, headers: Mapping[str, str], body: bytes, shop: str, *, now: float | None = None) -> int:
        """Answer the webhook. If the process dies between the payment and the note of it, the repeat pays no more."""
        context = verify_webhook(headers, body, self.secrets, now=now)
        if self.db.execute("SELECT 1 FROM settled WHERE execution = ?", (context.execution_id,)).fetchone():
            return 200
        try:
            self.pay(shop, context.execution_id)
        except ConnectionError:
            return 503
        with self.db:
            due = context.due_at.isoformat()
            self.db.execute("INSERT INTO settled VALUES (?, ?, ?)", (context.execution_id, shop, due))
        return 200


def redrive(cw: Clockwork, *, at_most: int = 100) -> int:
    """Once the bank is back: settle all nights that ended DEAD. Returns how many."""
    changed, after = 0, None
    while True:
        handled = cw.dead.redrive(prefix="settle-", limit=at_most, next_token=after)
        changed, after = changed + handled.changed, handled.next_token
        if after is None:
            return changed
