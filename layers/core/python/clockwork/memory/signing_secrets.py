"""Signing secrets in a set: their names alone, since no flow sees more of them."""

from __future__ import annotations


class MemorySigningSecrets:
    """`ports.SigningSecrets` in plain Python."""

    def __init__(self, *names: str) -> None:
        self.names = set(names)

    def exists(self, name: str) -> bool:
        return name in self.names
