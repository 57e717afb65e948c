"""A removal is refused unless it is named, and an account that cannot take a deployment is told beforehand."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import pytest

from infra import ROOT
from rollout.checks import OK, REFUSED, UNKNOWN, WARN, Facts, Row, Unknown, judge, may_deploy
from rollout.commands import table
from rollout.removals import removals
from rollout.template import Template
from tests.infra.account import FACTS, account_of
from tests.infra.conftest import ADMIN, TARGETS, synthesize
from tests.infra.option_sets import template_of


def of(name: str) -> Template:
    """A template as CloudFormation gives it back, of a deployment that has an admin."""
    body = copy.deepcopy(template_of(name).body)
    body["Metadata"]["Clockwork"]["options"].setdefault("adminPrincipals", [ADMIN])
    return Template(body)


def changed(template: Template, **context: Any) -> Template:
    """A template with other options than it was made with."""
    return Template(synthesize(**{**dict(template.options), **context}).body)


def names(live: Template, wanted: Template) -> set[str]:
    return {one.name for one in removals(live, wanted)}


class TestRemovals:
    """The removals by a template from the live one."""

    @pytest.mark.parametrize("name", ["plain", "kafka", "largest", "new cluster"])
    def test_the_same_again_takes_nothing_away(self, name: str) -> None:
        assert removals(of(name), of(name)) == []

    def test_more_takes_nothing_away(self) -> None:
        plain = of("plain")
        assert removals(plain, changed(plain, kafka={"bootstrapServers": "a:1"}, releaseQueues=2, shards=3)) == []

    def test_a_forgotten_kafka_takes_its_four_queues_away(self) -> None:
        live = of("kafka")
        wanted = Template(synthesize(ingestionQueue="true").body)
        found = removals(live, wanted)
        assert {one.name for one in found} == {"kafka"}
        queues = {one.what for one in found if "Queue" in one.what}
        named = {"KafkaRelease", "KafkaDeadLetters", "KafkaOrderedRelease", "KafkaOrderedDeadLetters"}
        assert queues == {f"the Queue Queues{name}" for name in named}
        assert any(one.what.startswith("the option kafka, which is an object with bootstrapServers") for one in found)

    def test_a_field_of_kafka_is_missed_and_another_value_of_it_is_not(self) -> None:
        live = of("kafka")
        cluster = dict(live.options["kafka"])
        assert names(live, changed(live, kafka={**cluster, "topics": ["orders"]})) == set()
        cluster.pop("ingestionTopic")
        assert names(live, changed(live, kafka=cluster)) == {"kafka"}

    def test_a_forgotten_queue_of_ingestion_is_missed(self) -> None:
        live = Template(synthesize(ingestionQueue="true").body)
        found = removals(live, Template(synthesize().body))
        assert {one.name for one in found} == {"ingestionQueue"}
        assert len(found) == 4

    def test_fewer_release_queues_are_missed_by_the_options_name(self) -> None:
        live = of("reserved, with pollers")
        assert names(live, changed(live, releaseQueues=2)) == {"releaseQueues"}

    def test_each_admin_is_missed_by_name_also_of_a_version_that_kept_no_options(self) -> None:
        other = "arn:aws:iam::123456789012:user/alice"
        live = Template(synthesize(adminPrincipals=[ADMIN, other]).body)
        of_before = Template({**live.body, "Metadata": {}})
        for one in (live, of_before):
            assert names(one, Template(synthesize(adminPrincipals=[other]).body)) == {ADMIN}

    def test_targets_that_close_are_missed(self) -> None:
        (found,) = removals(of("plain"), changed(of("plain"), targetQueueArns=[]))
        assert (found.name, found.what) == ("targetQueueArns", f"jobs may no longer target {TARGETS}")

    @pytest.mark.parametrize(
        ("kind", "prefix", "what"),
        [("DynamoDB::GlobalTable", "StorageJobs", "StorageJobs"), ("SQS::Queue", "QueuesRelease", "QueuesRelease")],
    )
    def test_a_table_or_queue_that_would_be_made_anew_is_missed(self, kind: str, prefix: str, what: str) -> None:
        live = of("plain")
        body = copy.deepcopy(dict(live.body))
        logical_id = next(key for key, one in template_of("plain").all(kind).items() if key.startswith(prefix))
        body["Resources"][logical_id]["Properties"]["TableName" if "Table" in kind else "QueueName"] = "other"
        (found,) = removals(live, Template(body))
        assert found.name == what
        assert "a new one in its place" in found.what
        del body["Resources"][logical_id]
        assert names(live, Template(body)) == {what}


class TestTheAccount:
    """The answers of the account, and what follows."""

    def row(self, what: str, facts: Facts = FACTS, wanted: Template | None = None, *allowed: str) -> Row:
        (found,) = [row for row in judge(facts, wanted or of("plain"), allowed) if row.what == what]
        return found

    def test_a_new_account_of_ten_executions_may_deploy_and_is_told_what_to_raise(self) -> None:
        small = replace(FACTS, concurrency=10, unreserved=10)
        row = self.row("concurrent executions", small)
        assert row.state == WARN
        assert row.needed == "100 by event sources"
        assert "ask Lambda for 125" in row.then
        assert may_deploy(judge(small, of("plain")))

    def test_a_stack_that_nobody_could_use_is_refused_and_one_that_alarms_nobody_is_warned_of(self) -> None:
        """The file as it is shipped: nobody could create a client."""
        shipped = json.loads((ROOT / "deployment.json").read_text(encoding="utf-8"))["environments"]["production"]
        wanted = Template(synthesize(**shipped).body)
        row = self.row("admins", wanted=wanted)
        assert (row.state, row.found) == (REFUSED, "none")
        assert "deployment.json" in row.then and "ADMIN_PRINCIPALS" in row.then
        assert not may_deploy(judge(FACTS, wanted))
        assert self.row("alarms", wanted=wanted).state == WARN
        told = Template(synthesize(adminPrincipals=ADMIN, alarmTopicArn="arn:aws:sns:us-east-1:123456789012:a").body)
        assert [self.row(what, wanted=told).state for what in ("admins", "alarms")] == [OK, OK]

    def test_what_is_said_to_be_enough_is_enough(self) -> None:
        assert self.row("concurrent executions", replace(FACTS, concurrency=125)).state == OK
        assert self.row("concurrent executions", replace(FACTS, concurrency=124)).state == WARN

    def test_what_cannot_be_reserved_is_refused_with_the_number_that_can(self) -> None:
        wanted = of("reserved, with pollers")
        row = self.row("reserved executions", replace(FACTS, unreserved=149), wanted)
        assert (row.state, row.then) == (REFUSED, "ask Lambda for 1001, or leave `reserve` out")
        assert self.row("reserved executions", replace(FACTS, unreserved=150), wanted).state == OK
        # What the live stack has reserved is its own to reserve again.
        again = replace(FACTS, unreserved=100, live=wanted, status="UPDATE_COMPLETE")
        assert self.row("reserved executions", again, wanted).state == OK

    @pytest.mark.parametrize(
        ("facts", "what"),
        [
            (replace(FACTS, bootstrap=0), "bootstrap stack"),
            (replace(FACTS, bootstrap=5), "bootstrap stack"),
            (replace(FACTS, status="ROLLBACK_COMPLETE"), "stack"),
            (replace(FACTS, status="UPDATE_IN_PROGRESS"), "stack"),
        ],
    )
    def test_what_cloudformation_would_refuse_is_refused_before(self, facts: Facts, what: str) -> None:
        row = self.row(what, facts)
        assert row.state == REFUSED
        assert row.then

    @pytest.mark.parametrize(
        ("status", "then"),
        [
            ("CREATE_FAILED", "delete the stack in CloudFormation: it was never complete"),
            ("ROLLBACK_COMPLETE", "delete the stack in CloudFormation: it was never complete"),
            ("ROLLBACK_FAILED", "delete the stack in CloudFormation: it was never complete"),
            ("DELETE_FAILED", "its events say what could not be deleted: mend that, and `make destroy` again"),
            ("UPDATE_FAILED", "the stack is in use, do not delete it. In CloudFormation: roll it back"),
            (
                "UPDATE_ROLLBACK_FAILED",
                "the stack is in use, do not delete it. In CloudFormation: continue the rollback",
            ),
            (
                "IMPORT_ROLLBACK_FAILED",
                "the stack is in use, do not delete it. In CloudFormation: continue the rollback",
            ),
            ("DELETE_IN_PROGRESS", "wait until it has ended"),
        ],
    )
    def test_only_a_stack_that_never_was_complete_is_to_be_deleted(self, status: str, then: str) -> None:
        row = self.row("stack", replace(FACTS, status=status))
        assert (row.state, row.then) == (REFUSED, then)

    def test_an_import_that_was_rolled_back_left_the_stack_as_it_was(self) -> None:
        assert self.row("stack", replace(FACTS, status="IMPORT_ROLLBACK_COMPLETE", live=of("plain"))).state == OK

    @pytest.mark.parametrize(
        ("state", "found"), [("REVIEW_IN_PROGRESS", ""), ("DELETE_COMPLETE", ""), ("UPDATE_FAILED", "UPDATE_FAILED")]
    )
    def test_a_stack_that_was_only_ever_reviewed_is_none(self, state: str, found: str) -> None:
        assert account_of(describe_stacks={"Stacks": [{"StackStatus": state}]}).status("Clockwork") == found

    def test_another_account_or_region_than_the_files_is_refused(self) -> None:
        wanted = Template({**of("plain").body, "Metadata": {"Clockwork": {"options": {"account": "1", "region": "x"}}}})
        assert {self.row(what, FACTS, wanted).state for what in ("account", "region")} == {REFUSED}

    def test_the_bootstrap_stack_of_the_qualifier_is_looked_for(self) -> None:
        wanted = Template(synthesize(bootstrapQualifier="platform", adminPrincipals=ADMIN).body)
        by_context = Template(synthesize(**{"@aws-cdk/core:bootstrapQualifier": "platform"}).body)
        assert wanted.bootstrap == by_context.bootstrap == "/cdk-bootstrap/platform/version"
        assert of("plain").bootstrap == "/cdk-bootstrap/hnb659fds/version"
        row = self.row("bootstrap stack", replace(FACTS, bootstrap=0), wanted)
        assert "--qualifier platform --toolkit-stack-name CDK-platform aws://" in row.then
        assert "--qualifier" not in self.row("bootstrap stack", replace(FACTS, bootstrap=0)).then

    def test_a_boundary_that_is_missing_is_told_before_the_first_role_fails(self) -> None:
        wanted = Template(synthesize(permissionsBoundary="Team", adminPrincipals=ADMIN).body)
        assert self.row("permissions boundary", FACTS, wanted).state == REFUSED
        found = replace(FACTS, boundary="arn:aws:iam::123456789012:policy/Team")
        assert self.row("permissions boundary", found, wanted).state == OK
        denied = replace(FACTS, boundary=Unknown("AccessDenied"))
        assert self.row("permissions boundary", denied, wanted).state == UNKNOWN
        assert may_deploy(judge(found, wanted))
        assert not [row for row in judge(FACTS, of("plain")) if row.what == "permissions boundary"]

    @pytest.mark.parametrize("named", ["Team", "arn:aws-cn:iam::123456789012:policy/Team"])
    @pytest.mark.parametrize("exists", [True, False])
    def test_the_account_is_asked_for_the_boundary_by_name_or_arn(self, named: str, *, exists: bool) -> None:
        arn = "arn:aws-cn:iam::123456789012:policy/Team"
        account = account_of(
            get_account_settings={"AccountLimit": {"ConcurrentExecutions": 200, "UnreservedConcurrentExecutions": 100}},
            get_caller_identity={"Account": "123456789012", "Arn": "arn:aws-cn:iam::123456789012:user/alice"},
            get_parameter={"Parameter": {"Value": "29"}},
            describe_stacks="ValidationError",
            get_queue_url="AWS.SimpleQueueService.NonExistentQueue",
            get_policy={"Policy": {"Arn": arn}} if exists else "NoSuchEntity",
        )
        facts = account.facts("Clockwork", Template(synthesize(permissionsBoundary=named).body))
        assert facts.boundary == (arn if exists else "")

    def test_a_queue_that_stayed_from_before_is_named(self) -> None:
        left = "Clockwork-Release-1"
        wanted = of("reserved, with pollers")
        assert self.row(f"queue {left}", replace(FACTS, queues=frozenset({left})), wanted).state == REFUSED
        own = replace(FACTS, queues=frozenset({left}), live=wanted, status="UPDATE_COMPLETE")
        assert may_deploy(judge(own, wanted))

    def test_what_may_not_be_asked_is_unknown_and_stands_in_nobodys_way(self) -> None:
        denied = Unknown("AccessDeniedException")
        facts = replace(FACTS, bootstrap=denied, concurrency=denied, unreserved=denied)
        rows = judge(facts, of("plain"))
        assert [row.state for row in rows] == [OK, OK, UNKNOWN, OK, OK, WARN, UNKNOWN]
        assert may_deploy(rows)

    def test_a_stack_that_may_not_be_read_is_deployed_only_by_who_allows_whatever_goes(self) -> None:
        wanted = of("reserved, with pollers")
        account = account_of(
            get_account_settings={"AccountLimit": {"ConcurrentExecutions": 200, "UnreservedConcurrentExecutions": 100}},
            get_caller_identity={"Account": "123456789012"},
            get_parameter={"Parameter": {"Value": "29"}},
            describe_stacks="AccessDenied",
            get_queue_url="AccessDenied",
        )
        facts = account.facts("Clockwork", wanted)
        assert (facts.live, facts.queues) == (Unknown("AccessDenied"), frozenset())
        assert isinstance(facts.live, Unknown)
        told = {row.what: row.state for row in judge(facts, wanted)}
        assert told.pop("removals") == REFUSED
        # What it lacks may be what the live stack has.
        assert told["reserved executions"] == UNKNOWN
        assert not may_deploy(judge(facts, wanted))
        assert not may_deploy(judge(facts, wanted, ["kafka"]))
        assert may_deploy(judge(facts, wanted, ["unknown"]))
        assert "make deploy ALLOW_REMOVAL='unknown'" in table(judge(facts, wanted))
        exists = replace(facts, queues=frozenset({"Clockwork-Release-1"}))
        assert self.row("queue Clockwork-Release-1", exists, wanted).state == UNKNOWN

    def test_a_template_that_may_not_be_read_is_no_traceback(self) -> None:
        account = account_of(
            get_account_settings={"AccountLimit": {"ConcurrentExecutions": 200, "UnreservedConcurrentExecutions": 100}},
            get_caller_identity={"Account": "123456789012"},
            get_parameter="ParameterNotFound",
            describe_stacks={"Stacks": [{"StackStatus": "UPDATE_COMPLETE"}]},
            get_template="AccessDenied",
            get_queue_url="AccessDenied",
        )
        facts = account.facts("Clockwork", of("plain"))
        assert (facts.status, facts.bootstrap) == ("UPDATE_COMPLETE", 0)
        assert self.row("removals", facts).state == REFUSED

    def test_a_removal_is_refused_until_it_is_named(self) -> None:
        facts = replace(FACTS, live=of("kafka"), status="UPDATE_COMPLETE")
        wanted = Template(synthesize(ingestionQueue="true", adminPrincipals=ADMIN).body)
        assert not may_deploy(judge(facts, wanted))
        assert not may_deploy(judge(facts, wanted, ["ingestionQueue"]))
        assert may_deploy(judge(facts, wanted, ["kafka"]))
        told = table(judge(facts, wanted))
        assert "make deploy ALLOW_REMOVAL='kafka'" in told
        assert all(len(line) <= 120 for line in told.splitlines())
