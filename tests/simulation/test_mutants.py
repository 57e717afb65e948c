"""The mutants are about the code as it is: what they edit is there, and none of their invariants is left out."""

from __future__ import annotations

import pytest

from tests.simulation.mutants.equivalents import EQUIVALENT
from tests.simulation.mutants.mutant import PACKAGE, Mutant
from tests.simulation.mutants.named import NAMED
from tests.simulation.mutants.operators import all_places

INVARIANTS = {*(f"I{number}" for number in range(1, 13)), "L1"}


@pytest.mark.parametrize("mutant", NAMED, ids=lambda mutant: mutant.name)
def test_a_named_mutant_still_has_its_lines_and_still_is_python(mutant: Mutant) -> None:
    compile(mutant.of((PACKAGE / mutant.file).read_text()), mutant.file, "exec")


def test_the_names_of_mutants_differ() -> None:
    assert len({mutant.name for mutant in NAMED}) == len(NAMED)


def test_each_invariant_has_a_mutant_that_takes_its_ground_away() -> None:
    assert {mutant.invariant for mutant in NAMED} == INVARIANTS


def test_what_is_taken_for_equivalent_is_a_change_that_may_still_be_drawn() -> None:
    assert EQUIVALENT.keys() <= {place.name for place in all_places()}
