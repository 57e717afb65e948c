"""A shop that reminds of orders which are not paid, and forgets the reminder when they are.

python examples/reminders/app.py PORT DATABASE
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

from clockwork_client import Clockwork, InvalidWebhook, http, verify_webhook

PORT, DATABASE = int(sys.argv[1]), sys.argv[2]
REMIND_AFTER_SECONDS = 4
SECRETS = [os.environ["CLOCKWORK_WEBHOOK_SECRET"]]

cw = Clockwork()
reminder = http(f"http://localhost:{PORT}/reminders")
db = sqlite3.connect(DATABASE)
db.execute("CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, paid INTEGER DEFAULT 0, job TEXT)")
db.execute("CREATE TABLE IF NOT EXISTS reminded (execution TEXT PRIMARY KEY, id INTEGER)")


def place() -> int:
    """Take an order, and schedule its reminder. The key makes one job of it, also if this is done twice."""
    number = db.execute("INSERT INTO orders DEFAULT VALUES").lastrowid
    assert number is not None
    db.commit()
    job = cw.schedule(reminder, {"order": number}, in_=REMIND_AFTER_SECONDS, idempotency_key=f"remind-of-{number}")
    db.execute("UPDATE orders SET job = ? WHERE id = ?", (job.job_id, number))
    db.commit()
    return number


def pay(number: int) -> str:
    """Note that an order is paid, and cancel its reminder: `cancelled` means that none will come."""
    job = db.execute("UPDATE orders SET paid = 1 WHERE id = ? RETURNING job", (number,)).fetchone()[0]
    db.commit()
    return cw.jobs.cancel(job).result


def remind(execution: str, number: int) -> None:
    """Remind once: a webhook may arrive twice, and a cancel may come too late."""
    with db:
        paid = db.execute("SELECT paid FROM orders WHERE id = ?", (number,)).fetchone()[0]
        if not paid and db.execute("INSERT OR IGNORE INTO reminded VALUES (?, ?)", (execution, number)).rowcount:
            print(f"reminder of order {number}", flush=True)


class Shop(BaseHTTPRequestHandler):
    """The shop's routes."""

    def do_POST(self) -> None:
        """Answer POST /orders, /orders/N/pay, and the webhook /reminders."""
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        parts = self.path.strip("/").split("/")
        if parts == ["orders"]:
            self.answer(201, {"order": place()})
        elif parts[0] == "orders" and parts[2:] == ["pay"]:
            self.answer(200, {"reminder": pay(int(parts[1]))})
        elif parts == ["reminders"]:
            try:
                context = verify_webhook(dict(self.headers.items()), body, SECRETS)
            except InvalidWebhook as error:
                self.answer(401, {"refused": str(error)})
                return
            remind(context.execution_id, json.loads(body)["order"])
            self.answer(200, {})
        else:
            self.answer(404, {})

    def answer(self, status: int, body: object) -> None:
        """Send a JSON answer."""
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode() + b"\n")

    def log_message(self, *_: object) -> None:
        """Say nothing: the reminders are what there is to see."""


HTTPServer(("127.0.0.1", PORT), Shop).serve_forever()
