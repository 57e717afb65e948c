"""When a call is made again, as botocore's standard mode decides it.

https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html
"""

from __future__ import annotations

from threading import Lock

from clockwork.aws.plane.wire import faults

#: Status codes of an internal error or an outage.
_TRANSIENT = frozenset({500, 502, 503, 504})
_CODES = frozenset(
    {
        "BandwidthLimitExceeded",
        "EC2ThrottledException",
        "LimitExceededException",
        "PriorRequestNotComplete",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "RequestTimeout",
        "RequestTimeoutException",
        "SlowDown",
        "ThrottledException",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
        "TransactionInProgressException",
    }
)
LONGEST_SECONDS = 20.0


def pause_seconds(attempt: int, fraction: float) -> float:
    """How long to wait after attempt number `attempt`, counted from 1: a random part of a time that doubles."""
    return fraction * min(2.0 ** (attempt - 1), LONGEST_SECONDS)


def is_worth_another(error: Exception) -> bool:
    """Whether a call that failed so may succeed if it is made again."""
    response = getattr(error, "response", None)
    if response is None:
        return faults.may_pass(error)
    return response["ResponseMetadata"]["HTTPStatusCode"] in _TRANSIENT or response["Error"]["Code"] in _CODES


class Quota:
    """Ends repeats once most calls fail: they would only add to the load. Safe for many threads."""

    MOST = 500
    _PRICE, _PRICE_OF_TIMEOUT = 5, 10

    def __init__(self) -> None:
        self._left = self.MOST
        self._lock = Lock()

    def take(self, error: Exception) -> int:
        """The price of a repeat after this error, which has been paid; 0 if too little was left."""
        price = self._PRICE_OF_TIMEOUT if faults.is_timeout(error) else self._PRICE
        with self._lock:
            if price > self._left:
                return 0
            self._left -= price
            return price

    def give_back(self, price: int) -> None:
        """A call succeeded: `price` was paid for its last repeat, 0 if there was none."""
        if self._left < self.MOST:
            with self._lock:
                self._left = min(self.MOST, self._left + (price or 1))
