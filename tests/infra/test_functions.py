"""The Lambdas: their limits, and that the environment of each holds all of its settings."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clockwork.queue_names import DERIVED
from clockwork.settings import Settings
from tests.infra.conftest import synthesize
from tests.infra.option_sets import OPTION_SETS, template_of
from tests.infra.template import MOMENTS, Resource, Template


def environment(function: Resource) -> dict[str, str]:
    """The environment variables of a function; a value that CloudFormation fills in is replaced by a marker."""
    variables: dict[str, object] = function["Properties"]["Environment"]["Variables"]
    return {name: _text(value) for name, value in variables.items()}


def _text(value: Any) -> str:
    if isinstance(value, dict) and "Fn::Join" in value:
        return "".join(map(_text, value["Fn::Join"][1]))
    return value if isinstance(value, str) else "<resource>"


@pytest.mark.parametrize("stage", ["account", "local"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_lambda_reads_its_settings_back_from_its_environment(
    request: pytest.FixtureRequest, stage: str, moment: str
) -> None:
    template: Template = request.getfixturevalue(stage)
    read = Settings.from_environment(environment(template.function(moment)))
    written = Settings.for_account() if stage == "account" else Settings.for_local()
    assert (read.stage, read.shards, read.lookahead_seconds) == (stage, written.shards, written.lookahead_seconds)
    resources = (read.timeline_table, read.jobs_table, read.executions_table, read.shards_table, read.clients_table)
    assert {*resources, read.release_queue_url} == {"<resource>"}


@pytest.mark.parametrize("name", OPTION_SETS)
def test_a_lambda_derives_the_names_that_the_stack_gives_to_queues(name: str) -> None:
    template = template_of(name)
    variables = environment(template.function("Sweeper")) | {"RELEASE_QUEUE_URL": "https://q/1/Release"}
    read = Settings.from_environment(variables)
    given = {one["Properties"].get("QueueName") for one in template.all("SQS::Queue").values()} - {None}
    urls = [*(getattr(read, field) for field in DERIVED), read.kafka_release_queue_url]
    derived = {url.removeprefix("https://q/1/") for url in urls if url}
    assert len(derived) == (7 if "kafka" in OPTION_SETS[name] else 3)
    assert derived <= given


@pytest.mark.parametrize("moment", MOMENTS)
def test_time_zones_come_from_the_layer(account: Template, moment: str) -> None:
    assert environment(account.function(moment))["PYTHONTZPATH"] == ""


@pytest.mark.parametrize("moment", ["Api", "Ticker"])
def test_who_starts_pollers_knows_their_name(account: Template, moment: str) -> None:
    variables = account.function(moment)["Properties"]["Environment"]["Variables"]
    poller = account.logical_id(account.function("Poller"))
    assert variables["POLLER_FUNCTION"] == {"Fn::Join": ["", [{"Ref": poller}, ":live"]]}


def test_shards_are_chosen_at_the_deployment() -> None:
    read = Settings.from_environment(environment(synthesize(shards="3").function("Api")))
    assert read.shards == 3


@pytest.mark.parametrize("moment", MOMENTS)
def test_the_timeout_is_that_of_the_settings(account: Template, moment: str) -> None:
    expected = getattr(Settings.for_account(), f"{moment.lower()}_timeout_seconds")
    assert account.function(moment)["Properties"]["Timeout"] == expected


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_lambda_runs_on_python_3_14_and_arm(account: Template, moment: str) -> None:
    properties = account.function(moment)["Properties"]
    assert (properties["Runtime"], properties["Architectures"]) == ("python3.14", ["arm64"])
    assert properties["MemorySize"] == (384 if moment in {"Poller", "Deliverer"} else 512)


@pytest.mark.parametrize(
    ("context", "grid_ms"), [({}, 250), ({"alignedSends": True}, 250), ({"alignedSends": False}, 0)]
)
def test_aligned_sends_may_be_switched_off(context: dict[str, bool], grid_ms: int) -> None:
    read = Settings.from_environment(environment(synthesize(**context).function("Poller")))
    assert (read.send_grid_ms, read.send_margin_ms) == (grid_ms, 150)


def test_the_local_stage_sends_at_once_unless_it_is_asked_to_align() -> None:
    grids = [
        Settings.from_environment(environment(synthesize(stage="local", **context).function("Poller"))).send_grid_ms
        for context in ({}, {"alignedSends": True})
    ]
    assert grids == [0, 250]


def reserved_in(template: Template) -> dict[str, int | None]:
    return {moment: template.function(moment)["Properties"].get("ReservedConcurrentExecutions") for moment in MOMENTS}


def test_nothing_is_reserved_unless_asked_since_a_new_account_may_have_ten_concurrent_executions(
    account: Template,
) -> None:
    assert reserved_in(account) == dict.fromkeys(MOMENTS)


def test_concurrency_is_reserved_on_request_where_it_must_not_be_taken_away() -> None:
    settings = Settings.for_account()
    pollers = settings.shards + 2 * settings.ordered_shards  # an ordered shard's poller and its successor
    assert reserved_in(synthesize(reserve="true")) == {
        "Api": None,
        "Ticker": 2,
        "Poller": pollers,
        "Deliverer": None,
        "Sweeper": None,
    }


def test_work_that_comes_back_through_the_queue_is_not_taken_for_a_loop(account: Template) -> None:
    allowed = {moment for moment in MOMENTS if account.function(moment)["Properties"].get("RecursiveLoop") == "Allow"}
    assert allowed == {"Poller", "Deliverer", "Sweeper"}


@pytest.mark.parametrize("moment", ["Ticker", "Poller", "Sweeper"])
def test_a_late_start_is_dropped_since_the_next_minute_brings_another(account: Template, moment: str) -> None:
    function = account.logical_id(account.function(moment))
    (config,) = [
        one["Properties"]
        for one in account.all("Lambda::EventInvokeConfig").values()
        if one["Properties"]["FunctionName"] == {"Ref": function}
    ]
    assert (config["MaximumEventAgeInSeconds"], config["MaximumRetryAttempts"]) == (60, 0)


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_lambda_has_a_log_of_its_own_that_ends_after_a_month(account: Template, moment: str) -> None:
    log = account.function(moment)["Properties"]["LoggingConfig"]["LogGroup"]["Ref"]
    assert log == account.logical_id(account.one("Logs::LogGroup", f"Functions{moment}Log"))
    assert account.all("Logs::LogGroup")[log]["Properties"]["RetentionInDays"] == 30


def test_lambda_logs_no_line_of_its_own_about_an_invocation_that_went_well(account: Template) -> None:
    for function in account.all("Lambda::Function").values():
        logging = function["Properties"]["LoggingConfig"]
        assert (logging["LogFormat"], logging["SystemLogLevel"]) == ("JSON", "WARN")
        # Lambda holds back no line that POWERTOOLS_LOG_LEVEL asks for.
        assert logging["ApplicationLogLevel"] == "DEBUG"


def test_lambdas_own_lines_can_be_had() -> None:
    levels = {
        one["Properties"]["LoggingConfig"]["SystemLogLevel"]
        for one in synthesize(platformLogs="INFO").all("Lambda::Function").values()
    }
    assert levels == {"INFO"}


def test_an_environment_has_only_what_differs_from_the_defaults(account: Template) -> None:
    for moment in MOMENTS:
        variables = environment(account.function(moment))
        assert len(json.dumps(variables)) <= 1_024, moment
        assert not {"SHARDS", "LEASE_SECONDS", "STACK_NAME", "OWN_METRICS"} & variables.keys()
