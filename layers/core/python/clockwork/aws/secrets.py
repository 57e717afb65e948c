"""Signing secrets, read by name from AWS Secrets Manager and remembered for a while."""

from __future__ import annotations

import threading
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from clockwork.domain.webhooks import InvalidSecret, key_of
from clockwork.ports import Clock

#: The only names that Clockwork may read, so that no client can have another application's secret used as a key.
PREFIX = "clockwork/"
#: A rotation must keep the former secret valid for at least this long.
MEMORY_MS = 300_000


class SecretUnreadable(Exception):
    """A signing secret cannot be read. The message names it and why, and never holds it."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"signing secret {name} cannot be read: {reason}")


class Secrets:
    """Reads secrets through a Secrets Manager client, each at most every five minutes. Safe for many threads."""

    def __init__(self, client: Any, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._lock = threading.Lock()
        self._known: dict[str, tuple[int, str]] = {}

    def get(self, name: str) -> str:
        """The secret as text. Raises SecretUnreadable."""
        if not name.startswith(PREFIX):
            raise SecretUnreadable(name, f"its name does not start with {PREFIX}")
        return self._recall(name) or self._read_once(name)

    def _recall(self, name: str) -> str | None:
        read_at, secret = self._known.get(name, (0, ""))
        return secret if secret and self._clock.now() < read_at + MEMORY_MS else None

    def _read_once(self, name: str) -> str:
        """Threads that miss at the same time ask once between them."""
        with self._lock:
            secret = self._recall(name)
            if secret is None:
                secret = self._read(name)
                self._known[name] = (self._clock.now(), secret)
            return secret

    def _read(self, name: str) -> str:
        try:
            secret = self._client.get_secret_value(SecretId=name).get("SecretString", "")
            key_of(secret)
        except ClientError as error:
            raise SecretUnreadable(name, error.response["Error"]["Code"]) from None
        except BotoCoreError as error:
            raise SecretUnreadable(name, type(error).__name__) from None
        except InvalidSecret as fault:
            raise SecretUnreadable(name, f"it {fault}") from None
        return str(secret)
