"""Signing secrets, read by name from AWS Secrets Manager or SSM Parameter Store and cached for a while."""

from __future__ import annotations

import threading
from typing import Any

from clockwork.aws import botocore_errors
from clockwork.aws.secret_names import PARAMETERS
from clockwork.ports import Clock
from clockwork.targets.web.webhooks import InvalidSecret, key_of

#: How long a secret is cached: a rotation must keep the former secret valid for at least this long.
MEMORY_MS = 300_000
#: For so long a secret that could not be read is not asked for again (ms).
UNREADABLE_FOR_MS = 5_000
#: The most secrets that are kept; the one met longest ago makes room.
CAPACITY = 1_000


class SecretUnreadable(Exception):
    """A signing secret cannot be read.

    The message gives its name and the reason, and never holds the secret.
    """

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"signing secret {name} cannot be read: {reason}")
        self.reason = reason


class _NotSecure(Exception):
    """A parameter is stored in plain text."""


class _Secret:
    """A secret, or why it could not be read, and until when either holds (ms)."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.until = 0
        self.text: str | None = None
        self.reason = ""


class Secrets:
    """Reads secrets through a client of each store, and caches each secret for five minutes.

    Only names that begin with `prefix` are read (parameters: with a slash before the prefix). No client can therefore
    use the secret of another application, or of another deployment, as a key.

    Safe for many threads: a read of one secret does not block another. A secret that could not be read is refused for a
    while without a call, so that a store without an answer delays each attempt at most once.
    """

    def __init__(self, secrets_manager: Any, parameter_store: Any, clock: Clock, *, prefix: str) -> None:
        self._secrets_manager = secrets_manager
        self._parameter_store = parameter_store
        self._clock = clock
        self._prefix = prefix
        self._parameter_prefix = f"{PARAMETERS}/{prefix}"
        self._lock = threading.Lock()
        self._known: dict[str, _Secret] = {}

    def get(self, name: str) -> str:
        """The secret as text; raises SecretUnreadable."""
        if not name.startswith((self._prefix, self._parameter_prefix)):
            raise SecretUnreadable(name, f"its name does not start with {self._prefix} or {self._parameter_prefix}")
        secret = self._secret_of(name)
        # Of threads that miss it at the same time, one reads it for all.
        with secret.lock:
            if self._clock.now() >= secret.until:
                self._read_into(secret, name)
            if secret.text is None:
                raise SecretUnreadable(name, secret.reason)
            return secret.text

    def _secret_of(self, name: str) -> _Secret:
        with self._lock:
            secret = self._known.setdefault(name, _Secret())
            if len(self._known) > CAPACITY:
                del self._known[next(iter(self._known))]
            return secret

    def _read_into(self, secret: _Secret, name: str) -> None:
        secret.text, valid_ms = None, UNREADABLE_FOR_MS
        try:
            secret.text, valid_ms = self._read(name), MEMORY_MS
        except SecretUnreadable as fault:
            secret.reason = fault.reason
        secret.until = self._clock.now() + valid_ms

    def _read(self, name: str) -> str:
        try:
            secret = self._parameter(name) if name.startswith(PARAMETERS) else self._secret(name)
            key_of(secret)
        except botocore_errors.ClientError as error:
            raise SecretUnreadable(name, _why(error.response["Error"])) from None
        except (botocore_errors.BotoCoreError, botocore_errors.ResponseParserError) as error:
            raise SecretUnreadable(name, type(error).__name__) from None
        except _NotSecure:
            raise SecretUnreadable(name, "it is no SecureString") from None
        except InvalidSecret as fault:
            raise SecretUnreadable(name, f"it {fault}") from None
        return secret

    def _secret(self, name: str) -> str:
        return str(self._secrets_manager.get_secret_value(SecretId=name).get("SecretString", ""))

    def _parameter(self, name: str) -> str:
        found = self._parameter_store.get_parameter(Name=name.removeprefix(PARAMETERS), WithDecryption=True)
        parameter = found.get("Parameter", {})
        if parameter.get("Type") != "SecureString":
            raise _NotSecure
        return str(parameter.get("Value", ""))


def _why(error: Any) -> str:
    """The reason why a store gave no secret: its code, and the missing option if the encryption key refuses."""
    code, message = str(error["Code"]), str(error.get("Message", ""))
    if "kms" in f"{code} {message}".lower() or code == "DecryptionFailure":
        return f"{code}: Clockwork's deliverer role needs kms:Decrypt on its key, by the option targetKeyArns"
    return code
