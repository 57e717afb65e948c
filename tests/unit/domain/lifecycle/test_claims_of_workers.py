"""Claimants of tokens: short ones, and those that earlier builds kept."""

from __future__ import annotations

import hashlib

from clockwork.domain.lifecycle.tokens import Token, claimant_of

SECRET = "s" * 22


def test_a_token_belongs_to_the_claim_of_its_secret_alone() -> None:
    token = Token("e", 1, SECRET)
    assert len(claimant_of(SECRET)) == 23
    assert token.belongs_to(claimant_of(SECRET))
    assert not token.belongs_to(claimant_of("x" * 22))
    assert not token.belongs_to(None)


def test_a_claim_that_an_earlier_build_wrote_stands_under_its_token() -> None:
    whole = "t" + hashlib.sha256(SECRET.encode()).hexdigest()
    assert Token("e", 1, SECRET).belongs_to(whole)
    assert not Token("e", 1, "x" * 22).belongs_to(whole)
