"""The counts of CloudWatch about a stack."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

Client = Callable[[str], Any]
_PERIOD_SECONDS = 60
#: The most queries of one call.
_QUERIES = 500


class Query(NamedTuple):
    """The sum of a metric, by a name of one's own."""

    name: str
    namespace: str
    metric: str
    dimensions: Mapping[str, str]


def sums(client: Client, queries: Sequence[Query], since: int) -> dict[str, float]:
    """The sum of each metric since an instant (epoch ms), by name; a metric without values is not among them."""
    found: dict[str, float] = {}
    for first in range(0, len(queries), _QUERIES):
        some = queries[first : first + _QUERIES]
        begin = datetime.fromtimestamp(since / 1_000 // _PERIOD_SECONDS * _PERIOD_SECONDS, UTC)
        pages = (
            client("cloudwatch")
            .get_paginator("get_metric_data")
            .paginate(
                MetricDataQueries=[_asked(number, query) for number, query in enumerate(some)],
                StartTime=begin,
                EndTime=datetime.now(UTC) + timedelta(seconds=_PERIOD_SECONDS),
            )
        )
        for page in pages:
            for result in page["MetricDataResults"]:
                if result["Values"]:
                    name = some[int(result["Id"][1:])].name
                    found[name] = found.get(name, 0) + sum(result["Values"])
    return found


def _asked(number: int, query: Query) -> dict[str, Any]:
    dimensions = [{"Name": name, "Value": value} for name, value in query.dimensions.items()]
    metric = {"Namespace": query.namespace, "MetricName": query.metric, "Dimensions": dimensions}
    return {"Id": f"q{number}", "MetricStat": {"Metric": metric, "Period": _PERIOD_SECONDS, "Stat": "Sum"}}


def invocation_errors(client: Client, functions: Mapping[str, str], since: int) -> dict[str, float]:
    """Failed invocations by Lambda."""
    return sums(
        client,
        [Query(moment, "AWS/Lambda", "Errors", {"FunctionName": name}) for moment, name in functions.items()],
        since,
    )


def without_timeouts(
    client: Client,
    functions: Mapping[str, str],
    failed: Mapping[str, float],
    durations_ms: Mapping[str, Sequence[float]],
) -> dict[str, float]:
    """Failed invocations by Lambda, but for those that took as long as they may: a slow machine proves nothing."""
    most_ms = {
        moment: 1_000 * client("lambda").get_function_configuration(FunctionName=name)["Timeout"]
        for moment, name in functions.items()
    }
    return {
        moment: max(0, count - sum(took >= most_ms[moment] for took in durations_ms.get(moment, ())))
        for moment, count in failed.items()
    }
