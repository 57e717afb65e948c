"""Prints trials: a line for each as it ends, and a table by invariant at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tests.simulation.mutants.trial import Trial

WIDTH = 150


def print_trial(number: int, count: int, trial: Trial) -> None:
    """Prints the result of one trial."""
    verdict = "VOID" if trial.fault else "caught" if trial.noticed else "SURVIVES"
    told = trial.fault or "nobody noticed"
    if trial.noticed is not None:
        seed = "" if trial.noticed.seed is None else f" at seed {trial.noticed.seed}"
        told = f"{trial.noticed.by}{seed}: {trial.noticed.told}"
    place = f"{trial.mutant.invariant}, {trial.mutant.file}: " if trial.mutant.invariant else ""
    print(f"{number:3d}/{count} {verdict:8s} {trial.seconds:5.1f} s  {place}{trial.mutant.name}", flush=True)
    print(f"{'':26s}{told[:WIDTH]}", flush=True)


def print_table(trials: Sequence[Trial]) -> None:
    """Prints for each invariant the mutants that break it, and the seed at which each was noticed."""
    print(f"\n{'':4s} {'the edit':62s} {'seed':>4s}  what the checker said")
    for trial in sorted(trials, key=_by_invariant):
        found = trial.noticed
        seed, told = ("-", "NOT NOTICED") if found is None else (str(found.seed), found.told)
        print(f"{trial.mutant.invariant:4s} {trial.mutant.name:62s} {seed:>4s}  {told[:100]}")


def print_score(trials: Sequence[Trial]) -> None:
    """Prints how many random mutants each kind of check noticed."""
    by = Counter(trial.noticed.by if trial.noticed else "nobody" for trial in trials)
    print("\nrandom mutants noticed by: " + ", ".join(f"{who} {count}" for who, count in by.most_common()))


def _by_invariant(trial: Trial) -> tuple[str, int]:
    name = trial.mutant.invariant
    return name[:1], int(name[1:])
