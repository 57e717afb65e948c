"""Claimants of tokens."""

from __future__ import annotations

from clockwork.domain.lifecycle.tokens import Token, claimant_of

SECRET = "s" * 22


def test_a_token_belongs_to_the_claim_of_its_secret_alone() -> None:
    token = Token("e", 1, SECRET)
    assert len(claimant_of(SECRET)) == 23
    assert token.belongs_to(claimant_of(SECRET))
    assert not token.belongs_to(claimant_of("x" * 22))
    assert not token.belongs_to(None)
