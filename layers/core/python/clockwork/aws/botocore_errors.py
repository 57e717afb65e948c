"""The exceptions of botocore, imported when they are first looked for: `except botocore_errors.ClientError`.

An `except` clause looks for its classes only once something was raised, so a Lambda that meets no fault is spared the
import: 11 ms of CPU.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clockwork.aws import late

if TYPE_CHECKING:
    from botocore.exceptions import (
        BotoCoreError,
        ChecksumError,
        ClientError,
        ConnectionClosedError,
        ConnectTimeoutError,
        EndpointConnectionError,
        HTTPClientError,
        IncompleteReadError,
        NoCredentialsError,
        ParamValidationError,
        ReadTimeoutError,
        SSLError,
    )
    from botocore.exceptions import ConnectionError as ConnectionFault
    from botocore.parsers import ResponseParserError

    __all__ = [
        "BotoCoreError",
        "ChecksumError",
        "ClientError",
        "ConnectTimeoutError",
        "ConnectionClosedError",
        "ConnectionFault",
        "EndpointConnectionError",
        "HTTPClientError",
        "IncompleteReadError",
        "NoCredentialsError",
        "ParamValidationError",
        "ReadTimeoutError",
        "ResponseParserError",
        "SSLError",
    ]


def __getattr__(name: str) -> Any:
    return late.exception("ConnectionError" if name == "ConnectionFault" else name)
