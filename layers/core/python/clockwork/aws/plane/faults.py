"""Faults of the network as botocore names them. Its exceptions are imported with the first fault, 11 ms of CPU."""

from __future__ import annotations

import ssl


def unreached(url: str, error: Exception) -> Exception:
    """The endpoint could not be reached: nothing was sent."""
    from botocore.exceptions import ConnectTimeoutError, EndpointConnectionError

    kind = ConnectTimeoutError if isinstance(error, TimeoutError) else EndpointConnectionError
    return kind(endpoint_url=url, error=error)


def unanswered(url: str, error: Exception) -> Exception:
    """No whole answer came: the call may have taken effect."""
    from botocore.exceptions import ConnectionClosedError, ReadTimeoutError, SSLError

    if isinstance(error, TimeoutError):
        return ReadTimeoutError(endpoint_url=url, error=error)
    kind = SSLError if isinstance(error, ssl.SSLError) else ConnectionClosedError
    return kind(endpoint_url=url, error=error)


def may_pass(error: Exception) -> bool:
    """Whether another try may meet a network that works."""
    from botocore.exceptions import ChecksumError, HTTPClientError
    from botocore.exceptions import ConnectionError as ConnectionFailed

    return isinstance(error, ConnectionFailed | HTTPClientError | ChecksumError)


def is_timeout(error: Exception) -> bool:
    """Whether time ran out, on connecting or on reading."""
    from botocore.exceptions import ConnectTimeoutError, ReadTimeoutError

    return isinstance(error, ConnectTimeoutError | ReadTimeoutError)
