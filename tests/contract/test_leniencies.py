"""Leniencies: the list of rules that stand-ins do not keep names only tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

from tests.contract.leniencies import EMULATOR, NOT_KEPT


def test_every_rule_that_a_stand_in_does_not_keep_is_a_test_here() -> None:
    tests = {
        name
        for file in Path(__file__).parent.glob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", file.read_text(), re.MULTILINE)
    }
    assert {name for rules in NOT_KEPT.values() for name in rules} <= tests


def test_the_emulator_keeps_every_rule() -> None:
    assert EMULATOR not in NOT_KEPT
