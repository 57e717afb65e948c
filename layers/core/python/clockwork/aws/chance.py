"""Chance from the operating system."""

from __future__ import annotations

import secrets
from random import SystemRandom

_random = SystemRandom()


class SystemChance:
    """`ports.Chance` from the system's source of secrets."""

    def token(self) -> str:
        return secrets.token_urlsafe(16)

    def below(self, count: int) -> int:
        return _random.randrange(count)

    def fraction(self) -> float:
        return _random.random()
