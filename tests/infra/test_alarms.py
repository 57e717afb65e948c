"""The alarms: each sign of a fault, or of a scheduler that has gone silent, wakes an operator."""

from __future__ import annotations

import json
import re

import pytest

from clockwork.settings import FEW_METRICS, Settings
from infra import ROOT
from infra.observability.metrics import STATISTICS
from tests.infra.conftest import synthesize
from tests.infra.template import MOMENTS, TABLES, Resource, Template, strings

TOPIC = "arn:aws:sns:us-east-1:123456789012:operators"


def alarm(template: Template, name: str) -> Resource:
    """The properties of one alarm."""
    (found,) = [one for key, one in template.all("CloudWatch::Alarm").items() if name_of(key) == name]
    properties: Resource = found["Properties"]
    return properties


def name_of(logical_id: str) -> str:
    return re.sub("^Alarms|[0-9A-F]{8}$", "", logical_id)


@pytest.fixture(scope="module")
def every() -> Template:
    """The template with all alarms."""
    return synthesize(alarms="all", ownMetrics="all", pools=json.dumps([{"name": "etl"}]))


def names(template: Template) -> set[str]:
    return set(map(name_of, template.all("CloudWatch::Alarm")))


#: A person gets up for these, whatever the number of queues.
WAKING = {
    *("NoTicks", "NoSweeps", "ShardStands", "Late", "FaultsContained", "Quarantined", "ParkedNearEnd"),
    *("DeadLettersLeft", "ManyDead", "DelivererErrors", "DelivererThrottles", "ApiFaults"),
    "TablesThrottled",
}


def test_a_stack_has_only_alarms_that_wake_a_person(account: Template) -> None:
    assert names(account) == WAKING
    pooled = synthesize(pools=json.dumps([{"name": "etl"}]), releaseQueues=2, kafka={"bootstrapServers": "a:1"})
    assert names(pooled) == {*WAKING, "WorkersLost"}


def test_every_alarm_can_be_asked_for(every: Template) -> None:
    assert names(every) > {*WAKING, "WorkersLost", "FewPolls", "QueueAge", "PoolEtlDeadLetters"}
    assert "Further1QueueAge" in names(synthesize(alarms="all", releaseQueues=2))


@pytest.mark.parametrize(("name", "moment"), [("Ticks", "Ticker"), ("Sweeps", "Sweeper")])
def test_silence_is_an_alarm_once_there_was_a_sound(name: str, moment: str) -> None:
    """Before the first tick the alarm has no data, and a change to that state alone notifies."""
    account = synthesize(alarmTopicArn=TOPIC)
    properties = alarm(account, f"No{name}")
    assert (properties["MetricName"], properties["TreatMissingData"]) == ("Invocations", "missing")
    assert properties["InsufficientDataActions"] == [TOPIC]
    function = {"Ref": account.logical_id(account.function(moment))}
    assert properties["Dimensions"] == [{"Name": "FunctionName", "Value": function}]
    assert properties["ComparisonOperator"] == "LessThanThreshold"
    assert (properties["EvaluationPeriods"], properties["DatapointsToAlarm"], properties["Threshold"]) == (3, 3, 1)


def test_no_alarm_rings_for_what_was_not_there_yet(every: Template) -> None:
    alarms = every.all("CloudWatch::Alarm")
    assert not [key for key, one in alarms.items() if one["Properties"]["TreatMissingData"] == "breaching"]
    silence = {name_of(key) for key, one in alarms.items() if one["Properties"]["TreatMissingData"] == "missing"}
    assert silence == {"NoTicks", "NoSweeps", "FewPolls"}


def test_fewer_polls_than_shards_are_an_alarm(every: Template) -> None:
    properties = alarm(every, "FewPolls")
    assert (properties["Threshold"], properties["Statistic"]) == (Settings.for_account().shards, "Sum")
    assert properties["Period"] >= Settings.for_account().poller_timeout_seconds


def test_every_metric_that_is_watched_or_shown_is_written_by_a_lambda() -> None:
    core = ROOT / "layers/core/python/clockwork"
    writers = (core / "bootstrap.py", *(core / "handlers").glob("*.py"), *(core / "edge/operations").glob("*.py"))
    written = "".join(path.read_text() for path in writers)
    assert [name for name in STATISTICS if f'"{name}":' not in written] == []


def test_a_shard_that_lags_by_a_third_of_the_retention_is_an_alarm(every: Template) -> None:
    assert alarm(every, "CursorLag")["Threshold"] == Settings.for_account().row_retention_seconds * 1_000 / 3


@pytest.mark.parametrize(
    ("name", "metric", "threshold"),
    [
        ("Early", "Early", 0),
        ("ParkedNearEnd", "ParkedNearEnd", 0),
        ("SettingRefused", "SettingsRefused", 0),
        ("DeadLetters", "ApproximateNumberOfMessagesVisible", 0),
        ("InFlight", "ApproximateNumberOfMessagesNotVisible", 80_000),
    ],
)
def test_one_minute_beyond_the_bound_is_enough(every: Template, name: str, metric: str, threshold: int) -> None:
    properties = alarm(every, name)
    assert (properties["MetricName"], properties["Threshold"]) == (metric, threshold)
    assert properties["DatapointsToAlarm"] == 1


def test_a_shard_that_does_not_move_is_an_alarm_within_minutes(account: Template) -> None:
    properties = alarm(account, "ShardStands")
    told = properties["MetricName"], properties["Threshold"], properties["Statistic"]
    assert told == ("CursorLagMs", 120_000, "Maximum")
    assert properties["EvaluationPeriods"] <= 5


def test_what_stays_in_quarantine_is_an_alarm(account: Template) -> None:
    properties = alarm(account, "Quarantined")
    assert (properties["MetricName"], properties["Threshold"], properties["Statistic"]) == ("Quarantined", 0, "Maximum")
    assert "Quarantined" in FEW_METRICS


def test_lateness_is_judged_by_its_tail(account: Template) -> None:
    properties = alarm(account, "Late")
    assert (properties["MetricName"], properties["ExtendedStatistic"]) == ("OwnLatenessMs", "p99")
    assert (properties["DatapointsToAlarm"], properties["EvaluationPeriods"]) == (3, 5)


@pytest.mark.parametrize("moment", MOMENTS)
def test_failing_and_refused_invocations_are_alarms(every: Template, moment: str) -> None:
    function = [{"Name": "FunctionName", "Value": {"Ref": every.logical_id(every.function(moment))}}]
    for kind in ("Errors", "Throttles"):
        properties = alarm(every, f"{moment}{kind}")
        assert (properties["MetricName"], properties["Dimensions"]) == (kind, function)


@pytest.mark.parametrize("table", TABLES)
def test_refused_writes_are_alarms(every: Template, table: str) -> None:
    assert alarm(every, f"{table}Throttled")["MetricName"] == "WriteThrottleEvents"


def test_own_metrics_carry_the_stack_and_no_other_dimension(account: Template) -> None:
    own = [
        one["Properties"]["Dimensions"]
        for one in account.all("CloudWatch::Alarm").values()
        if one["Properties"].get("Namespace") == Settings().metrics_namespace
    ]
    assert own
    assert all(dimensions == [{"Name": "stack", "Value": "Clockwork"}] for dimensions in own)


@pytest.mark.parametrize(("name", "state"), [("OrderedBacklog", "Visible"), ("OrderedHidden", "NotVisible")])
def test_half_of_what_sqs_looks_at_in_the_ordered_queue_is_an_alarm(every: Template, name: str, state: str) -> None:
    properties = alarm(every, name)
    queue = {"Fn::GetAtt": [every.logical_id(every.one("SQS::Queue", "QueuesOrderedRelease")), "QueueName"]}
    assert properties["MetricName"] == f"ApproximateNumberOfMessages{state}"
    assert properties["Dimensions"] == [{"Name": "QueueName", "Value": queue}]
    assert (properties["Threshold"], properties["DatapointsToAlarm"]) == (60_000, 1)


def test_an_ordered_message_that_waits_for_days_is_an_alarm_before_it_ends_dead(every: Template) -> None:
    properties = alarm(every, "OrderedAge")
    queue = {"Fn::GetAtt": [every.logical_id(every.one("SQS::Queue", "QueuesOrderedRelease")), "QueueName"]}
    assert properties["MetricName"] == "ApproximateAgeOfOldestMessage"
    assert properties["Dimensions"] == [{"Name": "QueueName", "Value": queue}]
    assert properties["Threshold"] == 10 * 86_400 < Settings().ordered_wait_seconds - 2 * 86_400


def test_alarms_notify_the_topic_that_the_deployment_names() -> None:
    for one in synthesize(alarmTopicArn=TOPIC).all("CloudWatch::Alarm").values():
        assert (one["Properties"]["AlarmActions"], one["Properties"]["OKActions"]) == ([TOPIC], [TOPIC])


def test_without_a_topic_alarms_only_show(account: Template) -> None:
    assert not [one for one in account.all("CloudWatch::Alarm").values() if "AlarmActions" in one["Properties"]]


def test_every_alarm_says_what_it_means(account: Template) -> None:
    assert all(len(one["Properties"]["AlarmDescription"]) > 20 for one in account.all("CloudWatch::Alarm").values())


def graphed(template: Template) -> set[str]:
    """The own metrics that the dashboard shows."""
    (dashboard,) = template.all("CloudWatch::Dashboard").values()
    return set(re.findall(rf'"{Settings().metrics_namespace}","(\w+)"', "".join(strings(dashboard))))


def watched(template: Template) -> set[str]:
    """The own metrics that alarms watch."""
    own = [one["Properties"] for one in template.all("CloudWatch::Alarm").values()]
    return {one["MetricName"] for one in own if one["Namespace"] == Settings().metrics_namespace}


def test_the_few_metrics_are_those_that_an_alarm_or_the_dashboard_looks_at(account: Template) -> None:
    assert graphed(account) | watched(account) == set(FEW_METRICS)
    assert "OWN_METRICS" not in account.function("Poller")["Properties"]["Environment"]["Variables"]
    assert Settings.for_account().own_metrics == "few"


def test_all_metrics_can_be_asked_for_and_then_more_are_shown() -> None:
    template = synthesize(ownMetrics="all")
    assert template.function("Api")["Properties"]["Environment"]["Variables"]["OWN_METRICS"] == "all"
    assert graphed(template) > graphed(synthesize())
    assert graphed(template) | watched(template) <= set(STATISTICS)


def test_without_own_metrics_silence_still_rings_and_nothing_looks_at_what_nobody_writes() -> None:
    template = synthesize(ownMetrics="none")
    assert template.function("Api")["Properties"]["Environment"]["Variables"]["OWN_METRICS"] == "none"
    assert graphed(template) == watched(template) == set()
    assert alarm(template, "NoPolls")["TreatMissingData"] == "missing"
    assert {"TimelineThrottled", "ExecutionsThrottled"} < names(template)


def test_a_throttled_read_and_a_throttled_index_are_alarms_as_a_throttled_write_is(account: Template) -> None:
    properties = alarm(account, "TablesThrottled")
    assert (properties["MetricName"], properties["Statistic"], properties["Threshold"]) == ("TablesThrottled", "Sum", 0)
    assert (properties["DatapointsToAlarm"], properties["EvaluationPeriods"]) == (3, 5)


def test_the_dashboard_is_one_screen_that_aws_does_not_bill(account: Template) -> None:
    (dashboard,) = account.all("CloudWatch::Dashboard").values()
    parts = dashboard["Properties"]["DashboardBody"]["Fn::Join"][1]
    widgets = json.loads("".join(part if isinstance(part, str) else "filled-in" for part in parts))["widgets"]
    assert max(one["x"] + one["width"] for one in widgets) == 24
    assert max(one["y"] + one["height"] for one in widgets) <= 15
    questions = [one["properties"]["title"].partition("?")[0] for one in widgets]
    assert set(questions) == {"Is all well", "What is late (ms)", "Why", "What costs"}
    assert len(widgets[0]["properties"]["alarms"]) == len(WAKING)
    assert sum(len(one["properties"].get("metrics", ())) for one in widgets) <= 50
