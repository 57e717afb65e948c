"""Commands on a terminal of their own: what one leaves behind takes nothing from whoever comes next."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from tests.dev.checkout import Checkout

#: Ends, and leaves a process behind that holds the terminal open.
LEAVES_A_CHILD = "trap '' HUP; sleep 60 & echo child $!"


@contextmanager
def open_pipe() -> Iterator[tuple[int, int]]:
    reads, writes = os.pipe()
    try:
        yield reads, writes
    finally:
        os.close(reads)
        os.close(writes)


def test_who_read_the_terminal_of_a_command_that_ended_reads_nothing_of_what_is_opened_next(checkout: Checkout) -> None:
    with checkout.started("sh", "-c", LEAVES_A_CHILD) as running:
        child = int(running.await_said("\n").removeprefix("child "))
        assert running.ended() == 0
    try:
        with ExitStack() as stack:
            pipes = [stack.enter_context(open_pipe()) for _ in range(8)]
            for _, writes in pipes:
                os.write(writes, b"for another")
            time.sleep(1.5)  # a reader that is left over looks once in a second, or more often
            for reads, _ in pipes:
                os.set_blocking(reads, False)
                assert os.read(reads, 100) == b"for another"
    finally:
        os.kill(child, 9)
