"""The receiver of the demonstration, the benchmarks and the tests."""

from __future__ import annotations

import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
import urllib3

from local.receiver import Answer, Post, Receiver


class Keeping(Receiver):
    """Keeps each post. A post to `/wrong` makes it raise, one to `/slow` is answered once `may_answer` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.posts: list[Post] = []
        self.faults: list[BaseException | None] = []
        self.may_answer = threading.Event()

    def answer(self, post: Post) -> Answer:
        self.posts.append(post)
        if post.path == "/wrong":
            raise RuntimeError("a fault of the receiver")
        if post.path == "/slow":
            self.may_answer.wait(10)
        return Answer(202, b"taken")

    def handle_error(self, request: Any, client_address: Any) -> None:
        super().handle_error(request, client_address)
        self.faults.append(sys.exception())


def await_true(ask: Callable[[], object]) -> None:
    deadline = time.monotonic() + 10
    while not ask():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_post_is_kept_with_its_instant_and_answered_as_told() -> None:
    before = time.time_ns() / 1_000_000
    with Keeping() as server, urllib3.connection_from_url(f"http://{server.place}") as pool:
        answer = pool.request("POST", "/any", body=b"content", headers={"X-Name": "Value"})
    (post,) = server.posts
    assert (answer.status, answer.data) == (202, b"taken")
    assert (post.path, post.headers["x-name"], post.body) == ("/any", "Value", b"content")
    assert before <= post.at <= time.time_ns() / 1_000_000


def test_it_listens_on_this_machine_alone_and_no_more_at_its_end() -> None:
    with Keeping() as server:
        assert server.place == f"127.0.0.1:{server.port}"
        assert server.server_address[0] == "127.0.0.1"
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", server.port), timeout=1).close()


def test_a_sender_that_hangs_up_is_not_reported_and_a_fault_of_the_receiver_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Keeping() as server:
        for path in ("/slow", "/wrong"):
            with socket.create_connection(("127.0.0.1", server.port)) as sender:
                sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # reset when closed
                sender.sendall(f"POST {path} HTTP/1.1\r\ncontent-length: 0\r\n\r\n".encode())
                await_true(lambda: server.posts[-1:] and server.posts[-1].path == path)  # noqa: B023 - called here
            server.may_answer.set()
            await_true(lambda: len(server.faults) == len(server.posts))
    hang_up, fault = server.faults
    assert isinstance(hang_up, ConnectionError)
    said = capsys.readouterr().err
    assert str(fault) in said
    assert type(hang_up).__name__ not in said
