"""Requests to the HTTPS API, signed as an IAM principal must sign them (SigV4 for `execute-api`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import botocore.auth
import botocore.awsrequest
import botocore.credentials
import urllib3

from local.emulator import REGION, Credentials


class Answer(NamedTuple):
    """An answer of the API; `body` is parsed if it is JSON, otherwise text."""

    status: int
    headers: Mapping[str, str]
    body: Any


class SignedApi:
    """A client of the API at `url`, which signs its requests with `credentials`; botocore's may renew themselves.

    With `connect_to` (a port of this machine) the client connects to that port, while the request names the host of the
    url. Names below `localhost` resolve on some systems only.
    """

    def __init__(
        self,
        url: str,
        credentials: Credentials | botocore.credentials.Credentials,
        *,
        region: str = REGION,
        connect_to: int | None = None,
        ca_bundle: Path | None = None,
    ) -> None:
        self.url = url.rstrip("/")
        if isinstance(credentials, Credentials):
            credentials = botocore.credentials.Credentials(credentials.access_key, credentials.secret_key)
        self._signer = botocore.auth.SigV4Auth(credentials, "execute-api", region)
        parts = urlsplit(self.url)
        host = "127.0.0.1" if connect_to else str(parts.hostname)
        port = connect_to or parts.port
        # A plain pool, not a pool manager: a manager would follow redirects and repeat requests.
        self._pool = (
            urllib3.HTTPSConnectionPool(host, port, maxsize=20, ca_certs=str(ca_bundle) if ca_bundle else None)
            if parts.scheme == "https"
            else urllib3.HTTPConnectionPool(host, port, maxsize=20)
        )

    def request(self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None) -> Answer:
        """Send one request and return the answer of any status. `body`: bytes and str unchanged, other values as JSON.

        Raises urllib3's HTTPError when no answer comes within 35 s.
        """
        encoded = body if isinstance(body, bytes | str) or body is None else json.dumps(body)
        request = botocore.awsrequest.AWSRequest(
            method, f"{self.url}{path}", headers={"Content-Type": "application/json", **(headers or {})}, data=encoded
        )
        self._signer.add_auth(request)
        signed = {**dict(request.headers.items()), "Host": urlsplit(self.url).netloc}
        answer = self._pool.urlopen(
            method, path, body=encoded, headers=signed, retries=False, redirect=False, timeout=35
        )
        return Answer(answer.status, answer.headers, _parse(answer.data))

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()


def _parse(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text.decode(errors="replace")
