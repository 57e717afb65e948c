"""Signatures of calls, by AWS's Signature Version 4.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256

import msgspec

Headers = Sequence[tuple[str, str]]


class Keys(msgspec.Struct, frozen=True):
    """Credentials; only the identifier of the key is shown where they are printed."""

    access_key: str
    secret_key: str
    token: str | None = None

    def __repr__(self) -> str:
        return f"Keys({self.access_key})"


class Signer:
    """Signs the calls of one service in one region, each of them a POST to `/` without a query."""

    def __init__(self, region: str, service: str) -> None:
        self._region, self._service = region, service
        self._scope = f"{region}/{service}/aws4_request"
        #: The secret key and the day for which the signing key was made, and the signing key.
        self._made: tuple[str, str, bytes] = ("", "", b"")

    def signed(self, keys: Keys, at: int, host: str, headers: Headers, body: bytes) -> list[tuple[str, str]]:
        """Headers for a request: those given, and date, token and signature.

        `headers` are all signed; their names are in lower case. `at` in ms.
        """
        moment = f"{datetime.fromtimestamp(at // 1000, UTC):%Y%m%dT%H%M%SZ}"
        sent = [*headers, ("x-amz-date", moment)]
        if keys.token:
            sent.append(("x-amz-security-token", keys.token))
        sent.append(("authorization", self._authorization(keys, moment, sorted([("host", host), *sent]), body)))
        return sent

    def _authorization(self, keys: Keys, moment: str, headers: Headers, body: bytes) -> str:
        day, names = moment[:8], ";".join([name for name, _ in headers])
        lines = "\n".join([f"{name}:{' '.join(value.split())}" for name, value in headers])
        canonical = f"POST\n/\n\n{lines}\n\n{names}\n{sha256(body).hexdigest()}"
        scope = f"{day}/{self._scope}"
        text = f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n{sha256(canonical.encode()).hexdigest()}"
        signature = hmac.digest(self._key(keys.secret_key, day), text.encode(), "sha256").hex()
        return f"AWS4-HMAC-SHA256 Credential={keys.access_key}/{scope}, SignedHeaders={names}, Signature={signature}"

    def _key(self, secret: str, day: str) -> bytes:
        made = self._made
        if made[:2] != (secret, day):
            key = f"AWS4{secret}".encode()
            for part in (day, self._region, self._service, "aws4_request"):
                key = hmac.digest(key, part.encode(), "sha256")
            self._made = made = (secret, day, key)
        return made[2]
