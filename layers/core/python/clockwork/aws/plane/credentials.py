"""Credentials for the data plane: Lambda's environment variables, or else the credentials of botocore's chain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any

from clockwork.aws import botocore_errors
from clockwork.aws.plane.signing import Keys

KeySource = Callable[[], Keys]


def keys_of_environment(environ: Mapping[str, str]) -> Keys | None:
    """The keys in the environment variables, with which botocore's chain begins; None if there are none.

    Keys that expire are None, too: botocore renews them.
    """
    access_key, secret_key = environ.get("AWS_ACCESS_KEY_ID"), environ.get("AWS_SECRET_ACCESS_KEY")
    if not access_key or not secret_key or "AWS_CREDENTIAL_EXPIRATION" in environ:
        return None
    token = environ.get("AWS_SECURITY_TOKEN") or environ.get("AWS_SESSION_TOKEN")
    return Keys(access_key, secret_key, token)


def keys_of_chain(session: Callable[[], Any]) -> KeySource:
    """The keys of a botocore session, read before each call, so that botocore renews expiring keys.

    The source raises NoCredentialsError, or the error of a renewal.
    """
    lock = Lock()
    found: list[Any] = []

    def keys() -> Keys:
        with lock:
            if not found:
                found.append(_credentials(session()))
        frozen = found[0].get_frozen_credentials()
        return Keys(frozen.access_key, frozen.secret_key, frozen.token)

    return keys


def _credentials(session: Any) -> Any:
    credentials = session.get_credentials()
    if credentials is None:
        raise botocore_errors.NoCredentialsError
    return credentials
