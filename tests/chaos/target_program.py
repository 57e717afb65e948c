"""The program of the target: an HTTP server that writes down each attempt before it answers.

    python -m tests.chaos.target_program PORT FILE

The program prints its port, takes orders on standard input, and ends when standard input does. `status 500` sets the
status of its answers, `hold 0.5` delays them by so many seconds. It answers `/ok` as ordered, `/flaky` with 503 at the
first attempt, and `/hopeless` with 500 at every attempt.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from local.receiver import Answer, Post, Receiver


class Server(Receiver):
    """The HTTP server; `status` and `hold_seconds` are as last ordered."""

    def __init__(self, port: int, file: Path) -> None:
        super().__init__(port)
        self.status = 200
        self.hold_seconds = 0.0
        # One unbuffered write per line: the lines outlive this process, however it ends.
        self._descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def obey(self, order: str) -> None:
        """Carries out one order. Raises ValueError for an unknown one."""
        word, value = order.split()
        if word == "status":
            self.status = int(value)
        elif word == "hold":
            self.hold_seconds = float(value)
        else:
            raise ValueError(f"no order: {order}")

    def answer(self, post: Post) -> Answer:
        """Writes the attempt down, then answers it as its path says."""
        attempt = int(post.headers["clockwork-attempt"])
        status = {"/flaky": 503 if attempt == 1 else self.status, "/hopeless": 500}.get(post.path, self.status)
        facts = {"jobId": post.headers["clockwork-job-id"], "dueAt": post.headers["clockwork-due-at"]}
        line = json.dumps({**facts, "attempt": attempt, "at": int(post.at), "status": status})
        os.write(self._descriptor, line.encode() + b"\n")
        time.sleep(self.hold_seconds)
        return Answer(status)


def main() -> None:
    """Serves until standard input ends."""
    with Server(int(sys.argv[1]), Path(sys.argv[2])) as server:
        print(server.port, flush=True)
        for order in sys.stdin:
            server.obey(order)


if __name__ == "__main__":
    main()
