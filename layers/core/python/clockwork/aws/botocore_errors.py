"""The exceptions of botocore, imported when they are first looked for: `except botocore_errors.ClientError`.

An `except` clause looks for its classes only once something was raised, so a Lambda that meets no fault is spared the
import: 11 ms of CPU, and 55 ms more for the parsers. `ResponseParserError` is looked for only if botocore's parsers are
in memory already, since otherwise nobody has raised it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

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


class _NeverRaised(Exception):
    """Stands for an exception whose module nobody has imported."""


def __getattr__(name: str) -> Any:
    if name == "ResponseParserError":
        parsers = sys.modules.get("botocore.parsers")
        return _NeverRaised if parsers is None else parsers.ResponseParserError
    import botocore.exceptions

    return getattr(botocore.exceptions, "ConnectionError" if name == "ConnectionFault" else name)
