"""A webhook receiver for first tries: it accepts every request, and prints a line for each."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import datetime

from clockwork_client import InvalidWebhook, scheduled_context
from local.receiver import Answer, Post, Receiver

#: A path that is answered with the status in it, to see retries: /status/503.
_STATUS = re.compile(r"/status/([2-5][0-9]{2})")
LONGEST_SHOWN = 200


class Inbox(Receiver):
    """Prints requests by `say`. Answers 200, or NNN at the path /status/NNN."""

    def __init__(self, port: int, say: Callable[[str], None]) -> None:
        super().__init__(port)
        self._say = say

    def answer(self, post: Post) -> Answer:
        """Print the request and answer it."""
        asked = _STATUS.fullmatch(post.path)
        status = int(asked[1]) if asked else 200
        self._say(line_of(post, status))
        return Answer(status)


def line_of(post: Post, status: int) -> str:
    """A request as a line. Control characters in it are spelled out, so that none acts on the terminal."""
    at = _clock(datetime.fromtimestamp(post.at / 1000).astimezone())
    return f"{at}  {inert(post.path)}  answered {status}  {_circumstances(post)}  {_body_of(post)}".rstrip()


def _circumstances(post: Post) -> str:
    try:
        context = scheduled_context(post.headers)
    except InvalidWebhook:
        return "not from Clockwork"
    run_at = context.run_at or context.due_at
    # A retry, a redrive and a backfilled fire are as late as they started after their own instant.
    own = f", to run at {_clock(run_at)}" if context.run_at else ""
    return f"attempt {context.attempt}{own}, {post.at - run_at.timestamp() * 1000:.0f} ms late"


def _clock(at: datetime) -> str:
    return at.astimezone().strftime("%H:%M:%S.%f")[:-3]


def _body_of(post: Post) -> str:
    text = inert(post.body.decode(errors="replace"))
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}... ({len(post.body):,} bytes)"


def inert(text: str) -> str:
    """The text with everything that is not printable written as JSON writes it."""
    return "".join(one if one.isprintable() else json.dumps(one)[1:-1] for one in text)
