"""The inbox: a line for what arrives, in which nothing acts on the terminal."""

from __future__ import annotations

from datetime import datetime

from local.dev.inbox import LONGEST_SHOWN, Inbox, inert, line_of
from local.receiver import Post

DUE = "2026-01-01T00:00:00.000Z"
DUE_MS = 1_767_225_600_000.0
HEADERS = {
    "webhook-id": "e1",
    "clockwork-job-id": "j1",
    "clockwork-attempt": "2",
    "clockwork-due-at": DUE,
}


def test_a_line_tells_path_answer_attempt_lateness_and_body() -> None:
    line = line_of(Post(DUE_MS + 12, "/hello", HEADERS, b'{"order":17}'), 200)
    assert line.endswith('/hello  answered 200  attempt 2, 12 ms late  {"order":17}')


def test_what_was_to_run_later_is_late_from_then_on_and_says_so() -> None:
    headers = {**HEADERS, "clockwork-run-at": "2026-01-01T00:01:00.000Z"}
    line = line_of(Post(DUE_MS + 60_007, "/hello", headers, b""), 200)
    at = datetime.fromtimestamp(DUE_MS / 1000 + 60).astimezone().strftime("%H:%M:%S")
    assert line.endswith(f"attempt 2, to run at {at}.000, 7 ms late")


def test_what_clockwork_did_not_send_is_shown_as_that() -> None:
    assert "not from Clockwork" in line_of(Post(DUE_MS, "/x", {}, b""), 200)


def test_nothing_of_a_request_acts_on_the_terminal() -> None:
    hostile = "\x1b]0;owned\x07\x1b[2J\r\n\u202etxt\x9b2J"
    line = line_of(Post(DUE_MS, f"/{hostile}", HEADERS, hostile.encode() + b"\xff"), 200)
    assert line.isprintable()
    assert "\\u001b[2J" in line
    assert inert("a\nb") == "a\\nb"


def test_a_long_body_is_cut() -> None:
    line = line_of(Post(DUE_MS, "/", HEADERS, b"x" * 300_000), 200)
    assert line.endswith("x... (300,000 bytes)")
    assert len(line) < LONGEST_SHOWN + 100


def test_a_path_may_ask_for_a_status_and_the_others_are_accepted() -> None:
    said: list[str] = []
    inbox = Inbox(0, said.append)
    try:
        statuses = [
            inbox.answer(Post(DUE_MS, path, HEADERS, b"")).status for path in ("/a", "/status/503", "/status/99")
        ]
    finally:
        inbox.server_close()
    assert statuses == [200, 503, 200]
    assert len(said) == 3
