"""Leniencies: the list of rules that stand-ins do not keep names only tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

from tests.contract.leniencies import EMULATOR, NOT_KEPT, OF_STORES

FILES = {file.stem: file.read_text() for file in Path(__file__).parent.glob("test_*.py")}
#: A store of a world, or a table, in a test that runs in several worlds.
_STORE = re.compile(r"\b(?:aws_)?world\.(?:timeline|shards|jobs|executions|clients|key_rows|regulation|trail|table)\b")


def test_every_rule_that_a_stand_in_does_not_keep_is_a_test_here() -> None:
    tests = {name for text in FILES.values() for name in re.findall(r"^def (test_\w+)", text, re.MULTILINE)}
    assert {name for rules in NOT_KEPT.values() for name in rules} <= tests


def test_the_emulator_keeps_every_rule_but_what_aws_bills() -> None:
    assert set(NOT_KEPT[EMULATOR]) == {"test_a_request_is_charged_what_aws_bills_for_its_reads"}


def test_every_file_of_tests_about_stores_runs_on_dynalite() -> None:
    several = {name for name, text in FILES.items() if re.search(r"^def .*\b(aws_)?world: ", text, re.MULTILINE)}
    about_stores = {name for name in several if _STORE.search(FILES[name])}
    # Tickets lie in queues, which dynalite has not.
    assert about_stores - {"test_faults_of_dynamodb", "test_strictness", "test_tickets"} == OF_STORES
