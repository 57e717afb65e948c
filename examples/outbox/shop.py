"""Orders in SQLite whose reminders exist if and only if the order does: an outbox, and the relay that empties it."""

from __future__ import annotations

import json
import sqlite3
from datetime import datetime, timedelta

from clockwork_client import Clockwork, Refused, http, job

REMIND = http("https://shop.example.com/remind")
TABLES = """
CREATE TABLE IF NOT EXISTS orders (number INTEGER PRIMARY KEY);
CREATE TABLE IF NOT EXISTS outbox (key TEXT PRIMARY KEY, request TEXT, refused TEXT);
"""


def place(db: sqlite3.Connection, number: int, now: datetime) -> None:
    """Take an order. One transaction writes it and what asks for its job: both are there, or neither."""
    # An instant, and not a delay: the relay may come late.
    reminder = job(REMIND, {"order": number}, at=now + timedelta(days=2))
    with db:
        db.execute("INSERT INTO orders VALUES (?)", (number,))
        db.execute("INSERT INTO outbox VALUES (?, ?, NULL)", (f"reminder-of-{number}", json.dumps(reminder)))


def relay(db: sqlite3.Connection, cw: Clockwork) -> int:
    """Create the jobs that are asked for; returns how many. Run it every few seconds, in one process.

    If it dies after a create, the next run sends the same request under the same key, which makes no second job. A
    refused item stays with its reason, and does not stop the others. Any other error is raised: try again later.
    """
    created = 0
    for key, request in db.execute("SELECT key, request FROM outbox WHERE refused IS NULL ORDER BY rowid").fetchall():
        try:
            cw.create(json.loads(request), idempotency_key=key)
        except Refused as error:
            with db:
                db.execute("UPDATE outbox SET refused = ? WHERE key = ?", (str(error), key))
            continue
        created += 1
        with db:
            db.execute("DELETE FROM outbox WHERE key = ?", (key,))
    return created
