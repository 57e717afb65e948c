"""Signatures of calls, by AWS's Signature Version 4.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
"""

from __future__ import annotations

import hmac
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import msgspec

Headers = tuple[tuple[str, str], ...]


class Keys(msgspec.Struct, frozen=True):
    """Credentials; only the identifier of the key is shown where they are printed."""

    access_key: str
    secret_key: str
    token: str | None = None

    def __repr__(self) -> str:
        return f"Keys({self.access_key})"


class _Prefix(msgspec.Struct, frozen=True):
    """The parts of a signature that are the same for all calls of one kind in one second."""

    keys: Keys
    second: int
    #: All headers but the signature's, and their lines.
    headers: Headers
    lines: str
    #: The hash of the canonical request, up to the hash of the body.
    canonical: Any
    #: The text to sign, up to the hash of the canonical request.
    text: str
    #: The header of the signature, up to the signature.
    authorization: str
    signing_key: bytes


class Signed(msgspec.Struct, frozen=True):
    """The headers of a signed request."""

    prefix: _Prefix
    signature: str

    @property
    def headers(self) -> Headers:
        """Those that were given to be signed, and date, token and signature."""
        return *self.prefix.headers, ("authorization", f"{self.prefix.authorization}{self.signature}")

    @property
    def lines(self) -> str:
        """The same as lines of HTTP."""
        return f"{self.prefix.lines}authorization: {self.prefix.authorization}{self.signature}\r\n"


class Signer:
    """Signs the calls of one service in one region, each of them a POST to `/` without a query."""

    def __init__(self, region: str, service: str) -> None:
        self._region, self._service = region, service
        self._scope = f"{region}/{service}/aws4_request"
        #: The secret key and the day for which the signing key was made, and the signing key.
        self._made: tuple[str, str, bytes] = ("", "", b"")
        #: The newest prefix for each host and headers: one for each operation.
        self._prefixes: dict[tuple[str, Headers], _Prefix] = {}

    def signed(self, keys: Keys, at: int, host: str, headers: Headers, body: bytes) -> Signed:
        """The signed headers for a request.

        `headers`, and the host's, are all signed; their names are in lower case. `at` in ms.
        """
        prefix, second = self._prefixes.get((host, headers)), at // 1000
        if prefix is None or prefix.second != second or prefix.keys != keys:
            self._prefixes[host, headers] = prefix = self._prefix(keys, second, host, headers)
        canonical = prefix.canonical.copy()
        canonical.update(sha256(body).hexdigest().encode())
        text = f"{prefix.text}{canonical.hexdigest()}"
        return Signed(prefix, hmac.digest(prefix.signing_key, text.encode(), "sha256").hex())

    def _prefix(self, keys: Keys, second: int, host: str, headers: Headers) -> _Prefix:
        moment = f"{datetime.fromtimestamp(second, UTC):%Y%m%dT%H%M%SZ}"
        token: Headers = (("x-amz-security-token", keys.token),) if keys.token else ()
        sent = *headers, ("x-amz-date", moment), *token
        canonical = sorted([("host", host), *sent])
        names = ";".join([name for name, _ in canonical])
        texts = "\n".join([f"{name}:{' '.join(value.split())}" for name, value in canonical])
        scope = f"{moment[:8]}/{self._scope}"
        return _Prefix(
            keys,
            second,
            sent,
            "".join([f"{name}: {value}\r\n" for name, value in sent]),
            sha256(f"POST\n/\n\n{texts}\n\n{names}\n".encode()),
            f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n",
            f"AWS4-HMAC-SHA256 Credential={keys.access_key}/{scope}, SignedHeaders={names}, Signature=",
            self._key(keys.secret_key, moment[:8]),
        )

    def _key(self, secret: str, day: str) -> bytes:
        made = self._made
        if made[:2] != (secret, day):
            key = f"AWS4{secret}".encode()
            for part in (day, self._region, self._service, "aws4_request"):
                key = hmac.digest(key, part.encode(), "sha256")
            self._made = made = (secret, day, key)
        return made[2]
