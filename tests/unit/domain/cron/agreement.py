"""Finds disagreements of the engine with the oracle around a shift of a zone's clock."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from clockwork.domain.cron.engine import fires_between
from clockwork.domain.cron.parser import compile_cron
from tests.unit.domain.cron.oracle import Matcher, debian_fires, local_ticks, moments, optional_fires

HALF_DAY = 43_200
EXPRESSIONS = """
30 2 * * *      |0 0 * * *       |30 1 * * *      |0 3 * * *       |0,30 2 * * *    |15,45 1-3 * * *
0 1-3 * * *     |30 0-4 * * *    |0 22-23 * * *   |30 23 * * *     |5-55/10 1,2 * * *|1-59/2 0-4 * * *
* * * * *       |*/5 * * * *     |*/7 * * * *     |0 * * * *       |30 * * * *      |45 * * * *
0 */2 * * *     |30 */2 * * *    |*/20 2 * * *    |*/15 1 * * *    |* 2 * * *       |0 */3 * * *
0 0 */2 * 1     |30 2 */2 * *    |0 2 1-7 * */7   |30 1 13 * 5     |15 0 L * *      |45 2 LW * *
30 2 15W * *    |30 1 * * 7L     |30 2 * * SUN#2  |0 0 ? * 5-7     |59 23 1,31 * *  |10 0 1 1,3-11/2 *
@daily          |@hourly         |0 0 29 2 1      |20 4/6 * * SAT,SUN
""".replace("\n", "|").split("|")
EXPRESSIONS = [expression.strip() for expression in EXPRESSIONS if expression.strip()]
OPTIONS = [(gap, overlap) for gap in ("run_at_gap_end", "skip") for overlap in ("first", "second", "both")]


class Disagreement(NamedTuple):
    zone: str
    expression: str
    options: tuple[str, str]
    #: UTC seconds.
    only_oracle: list[int]
    only_engine: list[int]


@lru_cache(None)
def matcher(expression: str) -> Matcher:
    return Matcher(expression)


def disagreements(
    zone: str, change: int, expressions: Iterable[str] = EXPRESSIONS, options: Iterable[tuple[str, str]] = OPTIONS[:1]
) -> Iterator[Disagreement]:
    """Compare all fires from twelve hours before to twelve after the change of offset at UTC second `change`."""
    first, last = (change - HALF_DAY) // 60 * 60, change + HALF_DAY
    ticks = local_ticks(zone, first, last, 60)
    window = moments(ticks)
    for expression in expressions:
        for gap, overlap in options:
            expected = optional_fires(matcher(expression), window, gap, overlap)
            if (gap, overlap) == OPTIONS[0]:
                assert expected == debian_fires(matcher(expression), ticks), "the oracle contradicts itself"
            cron = compile_cron(expression, dst_gap=gap, dst_overlap=overlap)  # type: ignore[arg-type]
            found = [at // 1000 for at in fires_between(cron, zone, first * 1000 - 1, last * 1000)]
            if found != expected:
                missed = [at for at in expected if at not in found]
                yield Disagreement(zone, expression, (gap, overlap), missed, [a for a in found if a not in expected])
