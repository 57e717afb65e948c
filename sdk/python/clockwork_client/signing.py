"""AWS Signature Version 4 with botocore's own signer and chain of credentials, imported when first used."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from threading import Lock
from typing import TYPE_CHECKING, Any

from clockwork_client.errors import NotConfigured

if TYPE_CHECKING:
    from botocore.credentials import Credentials

#: The service and the region in the address of an HTTP API, and of the URL of a Lambda.
_PLACES = {
    "execute-api": re.compile(r"\.execute-api\.([a-z0-9-]+)\."),
    "lambda": re.compile(r"\.lambda-url\.([a-z0-9-]+)\.on\.aws(?:$|[:/])"),
}


class Signer:
    """Signs requests with the credentials given, or those that the AWS CLI would find too.

    The region is the one given, or that in the API's URL, or AWS_REGION, or the one of the profile. The service is that
    of the URL: `lambda` for the URL of a Lambda, `execute-api` for all others.
    """

    def __init__(self, url: str, region: str | None, profile: str | None, credentials: Credentials | None) -> None:
        found = {service: match[1] for service, place in _PLACES.items() if (match := place.search(url))}
        self._service = next(iter(found), "execute-api")
        self._region = region or found.get(self._service)
        self._profile = profile
        self._credentials = credentials
        self._lock = Lock()
        self._signing: Any = None

    def __call__(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> dict[str, str]:
        """The headers, with the headers of the signature added.

        Raises NotConfigured without credentials or a region.
        """
        if self._signing is None:
            with self._lock:
                if self._signing is None:
                    self._signing = self._resolve()
        sign_v4, request_of, errors = self._signing
        try:
            frozen = self._credentials.get_frozen_credentials()  # type: ignore[union-attr]
        except errors as error:
            raise NotConfigured(f"the AWS credentials cannot be refreshed: {error}") from error
        request = request_of(method, url, headers, body)
        sign_v4(frozen, self._service, self._region).add_auth(request)
        return dict(request.headers.items())

    @property
    def region(self) -> str | None:
        """The region that requests are signed for, as far as it is known."""
        return self._region

    def source(self) -> str:
        """Where the credentials come from, in botocore's words. Raises NotConfigured."""
        if self._signing is None:
            self("GET", "http://localhost/", {}, None)
        return str(getattr(self._credentials, "method", None) or "given")

    def client_of(self, service: str, endpoint_url: str) -> Any:
        """A botocore client with the same credentials and region. Raises NotConfigured without any."""
        self.source()
        from botocore.config import Config
        from botocore.session import Session

        session = Session(profile=self._profile)
        session._credentials = self._credentials  # type: ignore[attr-defined]  # the very object, which renews itself
        config = Config(connect_timeout=5, read_timeout=30, retries={"mode": "standard"}, max_pool_connections=50)
        return session.create_client(service, region_name=self._region, endpoint_url=endpoint_url, config=config)

    def _resolve(self) -> tuple[Any, Any, Any]:
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest
        from botocore.exceptions import BotoCoreError

        if self._credentials is None or self._region is None:
            from botocore.session import Session

            # botocore reads AWS_DEFAULT_REGION alone; Lambda, and other SDKs of AWS, go by AWS_REGION.
            self._region = self._region or os.environ.get("AWS_REGION") or None
            try:
                session = Session(profile=self._profile)
                self._credentials = self._credentials or session.get_credentials()
                self._region = self._region or session.get_config_variable("region")
            except BotoCoreError as error:
                raise NotConfigured(f"AWS credentials: {error}") from error
        if self._credentials is None:
            raise NotConfigured("no AWS credentials: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
        if self._region is None:
            raise NotConfigured("no AWS region: set AWS_REGION, or region= (the URL does not tell it)")
        return SigV4Auth, AWSRequest, BotoCoreError
