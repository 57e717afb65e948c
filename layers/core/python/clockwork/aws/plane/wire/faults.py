"""Faults of the network as botocore names them."""

from __future__ import annotations

import ssl

from clockwork.aws import botocore_errors


def unreached(url: str, error: Exception) -> Exception:
    """The endpoint could not be reached: nothing was sent."""
    if isinstance(error, TimeoutError):
        return botocore_errors.ConnectTimeoutError(endpoint_url=url, error=error)
    return botocore_errors.EndpointConnectionError(endpoint_url=url, error=error)


def unanswered(url: str, error: Exception) -> Exception:
    """No whole answer came: the call may have taken effect."""
    if isinstance(error, TimeoutError):
        return botocore_errors.ReadTimeoutError(endpoint_url=url, error=error)
    if isinstance(error, ssl.SSLError):
        return botocore_errors.SSLError(endpoint_url=url, error=error)
    return botocore_errors.ConnectionClosedError(endpoint_url=url, error=error)


def may_pass(error: Exception) -> bool:
    """Whether another try may meet a network that works."""
    lost = botocore_errors.ConnectionFault, botocore_errors.HTTPClientError, botocore_errors.ChecksumError
    return isinstance(error, lost)


def is_timeout(error: Exception) -> bool:
    """Whether time ran out, on connecting or on reading."""
    return isinstance(error, botocore_errors.ConnectTimeoutError | botocore_errors.ReadTimeoutError)
