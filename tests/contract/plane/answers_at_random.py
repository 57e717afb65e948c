"""Answers as no service should give them: plain ones with lines, lengths and bytes that went wrong at random."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

_STATUS = (
    *["HTTP/1.1 200 OK"] * 30,
    *["HTTP/1.1 400 Bad Request", "HTTP/1.1 500 Internal Server Error", "HTTP/1.1 200", "HTTP/1.1 503 "] * 3,
    *["HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK", "HTTP/1.1 100 C\r\nX: y\r\n\r\nHTTP/1.1 400 No"],
    *["HTTP/1.1 204 No Content", "HTTP/1.1 304 Not Modified", "HTTP/1.1 103 Early Hints", "HTTP/1.1 101 Switching"],
    *["HTTP/1.0 200 OK", "HTTP/0.9 200 OK", "HTTP/1.2 200 OK", "HTTP/2 200 OK", "http/1.1 200 OK", "ICY 200 OK"],
    *["HTTP/1.1  200 OK", "HTTP/1.1\t200\tOK", "HTTP/1.1 +20 OK", "HTTP/1.1 2000 OK", "HTTP/1.1 99 OK", "HTTP/1.1"],
    *["HTTP/1.1 2_0 OK", "HTTP/1.1 600 OK", "HTTP/1.1 200OK", " HTTP/1.1 200 OK", "HTTP/1.1 200 \xe9\x85", "", "\t"],
    *["HTTP/1.1 \xb2\xb2\xb2 OK", "HTTP/1.1 200 O\rK", "HTTP/1.1 200 O\x00K", "HTTP/1.1 007 OK"],
)
_LINES = (
    *["Server: Server", "Date: Sat, 21 Nov 2026 00:00:00 GMT", "x-amzn-RequestId: 8SUC3", "x-amz-crc32: 2745614147"]
    * 4,
    *["Content-Type: application/x-amz-json-1.0", "Connection: keep-alive", "x-amzn-query-error: A.B;Sender"] * 4,
    *["Connection: close", "connection: Upgrade, CLOSE", "Connection:", "Connection : close", "Keep-Alive: timeout=5"],
    *["Content-Type: multipart/mixed; boundary=x", "Content-Type: message/rfc822", "X:", "X: ", "X:  y "],
    *["X:y", "X:\ty", " folded: yes", "\tfolded", ": nameless", "no colon", "na me: x", "\xe9: \xff", "X: y\x00z"],
    *[
        "X: a\rY: b",
        "X: a\x0bb",
        "X: a\x1cb",
        "X: a\x85b",
        "From me",
        "From: me",
        "From x Sat Nov 21",
        "X: =?utf-8?q?a?",
    ],
    *["Proxy-Connection: keep-alive", "Set-Cookie: a=b", "set-cookie: c=d", "(x): y", "X\x7f: y", "x_y: z", "\x01: y"],
)
_OTHER_LENGTHS = ("+{}", " {} ", "{} ", "0{}", "{}_0", "{}, {}", "-{}", "{}.0", "0x{}", "", "{}a", "\xb2", "9" * 30)
_CODINGS = ("chunked", "Chunked", "gzip, chunked", "identity", " chunked", "chunked ", "chunked, chunked", "")
_SIZES = ("{:X}", "{:x};a=b", "0{:x}", "0x{:x}", "-{:x}", "+{:x}", " {:x} ", "z", "", "{:x}0", "f" * 16, "-1", "1_0")


def answer_at_random(rng: random.Random) -> bytes:
    """The bytes of one answer, perhaps with some of the next; about half of all can be read."""
    size = 20_000 if rng.random() < 0.02 else rng.choice((0, 1, 2, 40, 300))
    body = rng.randbytes(size) if rng.random() < 0.5 else b'{"Item": {}}'
    lines = rng.sample(_LINES[:28], rng.randrange(6))
    if rng.random() < 0.4:
        lines += rng.sample(_LINES, rng.randrange(1, 3))
    lines += [f"X-{number}: y" for number in range(rng.choice((60, 64, 65, 96, 100, 101, 200)))] * (rng.random() < 0.02)
    lines += ["X: " + "y" * rng.choice((16_000, 16_384, 65_530, 65_534, 70_000))] * (rng.random() < 0.01)
    framed, sent = _framed(rng, body)
    lines += framed
    rng.shuffle(lines)
    end = rng.choice(("\r\n",) * 30 + ("\n", "\r", "\n\r"))
    head = end.join([rng.choice(_STATUS), *lines, "", ""])
    whole = head.encode("latin-1") + sent
    for _ in range(rng.choice((0, 0, 0, 0, 1, 2))):
        whole = rng.choice(_DAMAGES)(rng, whole)
    return whole


def _framed(rng: random.Random, body: bytes) -> tuple[Sequence[str], bytes]:
    """The lines that tell where a body ends, and the body as it is sent."""
    right = f"Content-Length: {len(body)}"
    match rng.randrange(20):
        case 0 | 1:
            length = rng.choice(_OTHER_LENGTHS).format(len(body), len(body))
            return [rng.choice(("Content-Length: ", "content-length:")) + length], body
        case 2:
            return [right, rng.choice((right, f"content-length: {len(body) + rng.randrange(-1, 2)}"))], body
        case 3:
            return [f"Content-Length: {len(body) + rng.choice((-1, 1, 5))}"], body
        case 4:
            return [], body
        case 5 | 6 | 7:
            coding = f"Transfer-Encoding: {rng.choice(_CODINGS) if rng.random() < 0.3 else 'chunked'}"
            return [coding, right] if rng.random() < 0.2 else [coding], _chunked(rng, body)
        case _:
            return [right], body + b"HTTP/1.1 200 OK\r\n" * (rng.random() < 0.05)


def _chunked(rng: random.Random, body: bytes) -> bytes:
    sent, place = b"", 0
    while place < len(body):
        part = body[place : (place := place + rng.randrange(1, 200))]
        size = rng.choice(_SIZES) if rng.random() < 0.03 else "{:x}"
        sent += size.format(len(part)).encode() + b"\r\n" + part + b"\r\n"
    return sent + rng.choice((b"0\r\n\r\n",) * 8 + (b"0\r\nA: b\r\n\r\n", b"", b"0\r\n", b"0\n\n"))


def _cut(rng: random.Random, whole: bytes) -> bytes:
    return whole[: rng.randrange(len(whole) + 1)]


def _changed(rng: random.Random, whole: bytes) -> bytes:
    place = rng.randrange(len(whole) + 1)
    return whole[:place] + rng.randbytes(1) + whole[place + 1 :]


def _without(rng: random.Random, whole: bytes) -> bytes:
    place = rng.randrange(len(whole) + 1)
    return whole[:place] + whole[place + rng.randrange(1, 4) :]


def _with(rng: random.Random, whole: bytes) -> bytes:
    place = rng.randrange(len(whole) + 1)
    return whole[:place] + rng.choice((b"\r", b"\n", b"\r\n", b" ", b":", b"\x00", b"\xff", b"0")) + whole[place:]


_DAMAGES: Sequence[Callable[[random.Random, bytes], bytes]] = (_cut, _changed, _without, _with)
