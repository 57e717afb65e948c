"""Page tokens: positions in lists, sealed so that only this deployment can read or make them.

A position may be the key of a row of another client, or of the former client of an id. It is therefore encrypted, and
padded, since the length of a key tells something, too. The code (MAC) of a token also covers the place where it was
given: the token opens nowhere else.

The cipher is HMAC-SHA256 in counter mode, then an HMAC of the ciphertext (encrypt-then-MAC, as in section 3 of
https://www.rfc-editor.org/rfc/rfc7366). The standard library has it, and a Lambda needs no package for it.
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence

from clockwork.domain import ids

#: Bytes of the nonce of a token, and of its code.
_NONCE = _CODE = 16
#: Positions are padded to a multiple of so many bytes.
_GRAIN = 256
_DIGEST = "sha256"


def sealed(position: str, place: Sequence[str], key: str, salt: str) -> str:
    """The token of a position (not empty) in the list of `place`. `salt`: a random text, used once.

    The nonce is made of the position as well: a salt that comes twice tells at most that a position did.
    """
    text = _padded(position.encode())
    nonce = _code(key, "nonce", salt.encode(), text)[:_NONCE]
    body = nonce + _crossed(text, key, nonce)
    return ids.encode_part(body + _code(key, "token", _told(place), body)[:_CODE])


def opened(token: str, place: Sequence[str], keys: Sequence[str]) -> str | None:
    """The position, if one of the keys sealed it for this place; None for every other text, from any caller."""
    try:
        raw = ids.decode_part(token)
    except ids.InvalidId:
        return None
    body, code = raw[:-_CODE], raw[-_CODE:]
    told = _told(place)
    # Each is compared, whichever fits.
    fitting = [key for key in keys if hmac.compare_digest(_code(key, "token", told, body)[:_CODE], code)]
    if not fitting:
        return None
    text = _crossed(body[_NONCE:], fitting[0], body[:_NONCE])
    return text.rstrip(b"\0")[:-1].decode()


def _told(place: Sequence[str]) -> bytes:
    return ids.netstrings(part.encode() for part in place)


def _code(key: str, use: str, *parts: bytes) -> bytes:
    """The code of parts under a key derived for one use. No ticket and no check of a token is of such bytes."""
    derived = hmac.digest(key.encode(), f"page token: {use}".encode(), _DIGEST)
    return hmac.digest(derived, ids.netstrings(parts), _DIGEST)


def _crossed(text: bytes, key: str, nonce: bytes) -> bytes:
    """The text, crossed (XOR) with the key stream of a nonce: this encrypts and decrypts."""
    blocks = range(0, len(text), 32)
    stream = b"".join(_code(key, "stream", nonce, b"%d" % start) for start in blocks)[: len(text)]
    return (int.from_bytes(text) ^ int.from_bytes(stream)).to_bytes(len(text))


def _padded(text: bytes) -> bytes:
    """The text, 0x80, and zeros up to a multiple of _GRAIN bytes."""
    return (text + b"\x80").ljust(-(-(len(text) + 1) // _GRAIN) * _GRAIN, b"\0")
