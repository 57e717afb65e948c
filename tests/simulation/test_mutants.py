"""The mutants fit the present code, and a trial tells a failing check from one that could not be carried out."""

from __future__ import annotations

import builtins
import symtable
from collections.abc import Iterator

import pytest

from tests.simulation.mutants.equivalents import EQUIVALENT
from tests.simulation.mutants.mutant import PACKAGE, Mutant, Rotten
from tests.simulation.mutants.named import NAMED
from tests.simulation.mutants.operators import all_places, places_in
from tests.simulation.mutants.tree import Tree
from tests.simulation.mutants.trial import Void, simulator_notices, some_tests_notice, tried

INVARIANTS = {
    *(f"I{number}" for number in range(1, 13)),
    "L1",
    *(f"P{number}" for number in range(1, 11)),
    *(f"W{number}" for number in range(1, 10)),
    *("E1", "E2"),
}
#: Named mutants that the simulator notices soon, so that every run of the tests sees the checker fail.
NOTICED_SOON = (
    "no look after the put",
    "commit before send",
    "live claims are ignored",
    "nothing is held",
    "the row is not marked",
    "anybody's job is shown",
)
SEEDS = 14
#: A small decision, and its tests.
DECISION, TESTS_OF_IT = "domain/lifecycle/expiry.py", ["tests/unit/flows/deliver/test_expiry.py"]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    return Tree(tmp_path_factory.mktemp("mutants"))


@pytest.mark.parametrize("mutant", NAMED, ids=lambda mutant: mutant.name)
def test_a_named_mutant_still_has_its_lines_and_still_is_python(mutant: Mutant) -> None:
    source = mutant.of((PACKAGE / mutant.file).read_text())
    compile(source, mutant.file, "exec")
    # A name that is nowhere defined would be noticed, and nothing of what the mutant takes away.
    assert list(undefined(source)) == []


def undefined(source: str) -> Iterator[str]:
    """Names that functions of a module look up in it, where nothing has them."""
    module = symtable.symtable(source, "a module", "exec")
    known = {*module.get_identifiers(), *dir(builtins), "__file__", "__name__"}
    tables = [*module.get_children()]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        yield from (one.get_name() for one in table.get_symbols() if one.is_global() and one.get_name() not in known)


def test_a_name_that_is_nowhere_defined_is_told() -> None:
    source = "import json\n\n\ndef of(n: int) -> str:\n    return json.dumps(world + len(n))\n"
    assert list(undefined(source)) == ["world"]


def test_the_names_of_mutants_differ() -> None:
    assert len({mutant.name for mutant in NAMED}) == len(NAMED)


def test_each_invariant_has_a_mutant_that_takes_its_ground_away() -> None:
    assert {mutant.invariant for mutant in NAMED} == INVARIANTS


def test_a_mutant_whose_line_is_gone_is_told() -> None:
    with pytest.raises(Rotten, match="is 0 times in"):
        Mutant("of what is not there", "flows/timeline/put.py", (("no such line", ""),)).of("another line")


def test_what_is_taken_for_equivalent_is_a_change_that_may_still_be_drawn() -> None:
    assert EQUIVALENT.keys() <= {place.name for place in all_places()}


def test_places_of_changes_are_found_with_the_lines_of_their_statements() -> None:
    source = "def of(n: int = 0) -> bool:\n    if n < (\n        5\n    ) and not n:\n        return n + 1 == 2\n"
    found = {(place.name.partition(": ")[2], tuple(place.lines)) for place in places_in("a.py", source)}
    assert ("if n < (: n < ( 5 ) -> n <= 5", (2, 3, 4)) in found
    assert ("return n + 1 == 2: n + 1 -> n - 1", (5,)) in found
    assert ("def of(n: int = 0) -> bool:: 0 -> 1", (1,)) in found
    (and_,) = (place for place in places_in("a.py", source) if " or " in place.instead)
    assert and_.mutant().of(source).splitlines()[1] == "    if (n < 5 or not n):"


def test_what_is_declared_by_name_is_not_changed() -> None:
    source = "MARGIN_MS = 60 * 1000\n\n\ndef of(n: int) -> bool:\n    return n < MARGIN_MS\n"
    assert [place.instead for place in places_in("a.py", source)] == ["n <= MARGIN_MS"]


@pytest.mark.nightly
def test_what_is_shipped_is_not_noticed(tree: Tree) -> None:
    assert simulator_notices(tree, 1) is None
    assert some_tests_notice(tree, TESTS_OF_IT, "its tests") is None


@pytest.mark.nightly
@pytest.mark.parametrize("mutant", [m for m in NAMED if m.name in NOTICED_SOON], ids=lambda mutant: mutant.name)
def test_the_simulator_notices(tree: Tree, mutant: Mutant) -> None:
    trial = tried(tree, mutant, lambda broken: simulator_notices(broken, SEEDS))
    assert trial.noticed is not None, trial.fault
    assert trial.noticed.by == "simulator"


@pytest.mark.nightly
def test_unit_tests_notice(tree: Tree) -> None:
    mutant = Mutant("never too late", DECISION, (("at > until", "False"),))
    trial = tried(tree, mutant, lambda broken: some_tests_notice(broken, TESTS_OF_IT, "its tests"))
    assert trial.noticed is not None
    assert trial.noticed.told.startswith("FAILED tests/unit/flows/deliver/test_expiry.py")


@pytest.mark.nightly
def test_programs_that_stand_for_aws_run_in_the_copy(tree: Tree) -> None:
    """Without it each test of a store would fail, and seem to notice every mutant."""
    done = tree.run(
        ["-m", "pytest", "-q", "-k", "(dynalite or ministack) and slots_follow", "tests/contract/test_regulation.py"],
        120,
    )
    assert done.code == 0, done.out


@pytest.mark.nightly
def test_what_cannot_be_loaded_is_noticed_by_nobody(tree: Tree) -> None:
    unloadable = Mutant(
        "an import that fails", DECISION, (("from __future__", "import no_such_module\nfrom __future__"),)
    )
    with tree.broken(unloadable):
        with pytest.raises(Void, match="exit status 1"):
            simulator_notices(tree, 1)
        with pytest.raises(Void, match="exit status 2"):
            some_tests_notice(tree, TESTS_OF_IT, "its tests")
