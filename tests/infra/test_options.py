"""Options that cannot be used are refused before anything is deployed: each by its name, and all of them at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest

from clockwork.domain.pools.pool import PRIORITIES
from clockwork.settings import Settings
from infra import ROOT, concurrency
from infra.deployment.document import InvalidDeployment, options_of
from infra.deployment.schema import OPTIONS, default_of
from infra.options import Options

ADMIN = "arn:aws:iam::123456789012:role/Admin"


def options(file: Path | None = None, **context: Any) -> Options:
    return Options.chosen(cdk.App(context=context).node, file)


def faults_of(file: Path | None = None, **context: Any) -> tuple[str, ...]:
    with pytest.raises(InvalidDeployment) as refused:
        options(file, **context)
    return refused.value.faults


def written(folder: Path, document: object) -> Path:
    file = folder / "deployment.json"
    file.write_text(document if isinstance(document, str) else json.dumps(document))
    return file


def test_without_a_context_the_account_is_meant_and_nobody_is_admin() -> None:
    chosen = options()
    assert (chosen.settings.stage, chosen.admin_principals, chosen.target_queue_arns) == ("account", (), ())
    assert (chosen.name, chosen.settings.stack_name, chosen.settings.secret_prefix) == (
        "Clockwork",
        "Clockwork",
        "clockwork/",
    )
    assert not chosen.is_local


def test_the_schema_has_the_defaults_of_the_settings() -> None:
    settings = Settings.for_account()
    told = {name: default_of(name) for name in ("shards", "releaseQueues", "delivererConcurrency")}
    assert told == {
        "shards": settings.shards,
        "releaseQueues": settings.release_queues,
        "delivererConcurrency": settings.deliverer_concurrency,
    }


def test_further_release_queues_are_adopted_by_a_stack_of_their_name() -> None:
    queues = {"Release": "Old-QueuesRelease4B2C", "Release1": "Other-Release-1", "Release12": "Other-Release-12"}
    assert options(name="Other", adopt=json.dumps({"queues": queues})).adopted_queues == queues


@pytest.mark.parametrize(("each", "most"), [("false", 22), ("true", 11)])
def test_pools_and_release_queues_share_the_room_of_a_stack(each: str, most: int) -> None:
    pools = json.dumps([{"name": f"p{number}"} for number in range(10)])
    assert len(options(pools=pools, delivererForEachQueue=each, releaseQueues=f"{most}").pools) == 10
    (fault,) = faults_of(pools=pools, delivererForEachQueue=each, releaseQueues=f"{most + 1}")
    assert fault == "pools: with so many releaseQueues they do not fit into one stack: give fewer of either"


def test_a_pool_has_all_priorities_unless_it_names_its_own() -> None:
    pools = json.dumps([{"name": "batch-etl"}, {"name": "gpu", "priorities": ["normal"]}])
    chosen = options(pools=pools)
    assert chosen.pools == {"batch-etl": ("high", "normal", "low"), "gpu": ("normal",)}
    assert chosen.settings.pools == ("batch-etl", "gpu=normal")
    assert options().settings.pools == ()
    assert OPTIONS["pools"]["items"]["properties"]["priorities"]["items"]["enum"] == list(PRIORITIES)


def test_queues_of_pools_are_adopted_by_a_stack_of_their_name() -> None:
    queues = {"Pool-batch-etl-high": "Other-Pool-batch-etl-high", "PoolDead-batch-etl": "Other-PoolDead-batch-etl"}
    assert options(name="Other", adopt=json.dumps({"queues": queues})).adopted_queues == queues
    assert "only a stack of the same name adopts it" in faults_of(adopt=json.dumps({"queues": queues}))[0]


def test_an_empty_list_of_admins_is_nobody(tmp_path: Path) -> None:
    file = written(tmp_path, {"environments": {"production": {"adminPrincipals": [ADMIN]}}})
    assert options(file).admin_principals == (ADMIN,)
    assert options(file, adminPrincipals="").admin_principals == ()


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("stage", "prod", "-c stage=prod: give one of account, local, smoke"),
        ("shards", "0", "-c shards: 0 is less than the minimum of 1"),
        ("shards", "1001", "1001 is greater than the maximum of 1000"),
        ("shards", "four", '-c shards: "four" is not of type "integer"'),
        ("shard", "4", "-c shard: no option has this name; shards has"),
        ("releaseQueues", "0", "-c releaseQueues: 0 is less"),
        ("releaseQueues", "25", "maximum of 24"),
        ("queuePollers", "1", "-c queuePollers: 1 is not valid"),
        ("queuePollers", "201", "-c queuePollers: 201 is not valid"),
        ("queuePollers", "9", "9 pollers of each plain release queue run 90 deliverers, more than its 80: raise"),
        ("delivererConcurrency", "3", "-c delivererConcurrency: 3 is less than the minimum of 4"),
        ("delivererConcurrency", "2000", "raise releaseQueues, or give queuePollers"),
        ("pools", '[{"name": "Batch"}]', 'pools.0.name: "Batch" does not match'),
        ("pools", '[{"name": "a", "priorities": []}]', "pools.0.priorities"),
        ("pools", '[{"name": "a", "priorities": ["urgent"]}]', "pools.0.priorities.0"),
        ("pools", '[{"name": "a-b"}, {"name": "ab"}]', "pools: two have the name ab, but for hyphens"),
        ("pools", "batch-etl", 'pools.0: "batch-etl" is not of type "object"'),
        ("pools", json.dumps([{"name": f"p{number}"} for number in range(11)]), "has more than 10 items"),
        ("adminPrincipals", "alice", 'adminPrincipals.0: "alice" does not match'),
        ("adminPrincipals", "arn:aws:iam::123456789012:role/path/Admin", "roles (without path)"),
        ("name", "my_stack", "letters, digits and hyphens"),
        ("name", "Clockwork-Release", "as in the names of another stack's queues"),
        ("name", "AWS-Jobs", "with which no parameter of SSM may begin"),
        ("name", "ssmjobs", "with which no parameter of SSM may begin"),
        ("alarmTopicArn", "arn:aws:sns:us-east-1:123456789012:ops.fifo", "no FIFO topic"),
        ("name", "My-Pool-Stack", "as in the names of another stack's queues"),
        ("name", "A-name-of-twenty-five-lett", "2 to 24"),
        ("architecture", "mips", '"mips" is not one of'),
        ("reserve", "maybe", '"maybe" is not of type "boolean"'),
        ("tags", '{"aws:x": "y"}', "-c tags"),
        ("kafka", "{", '-c kafka: "{" is not of type "object"'),
        ("kafka", "[]", '-c kafka: [] is not of type "object"'),
        ("kafka", "{}", "kafka: bootstrapServers must be host:port"),
        ("kafka", '{"bootstrapServers":"a b"}', "host:port, separated by commas"),
        ("kafka", '{"bootstrapServers":"a:1","auth":"mtls"}', 'kafka.auth: "mtls" is not one of'),
        ("kafka", '{"bootstrapServers":"a:1","auth":"iam"}', "clusterArn must be the ARN of the cluster"),
        ("kafka", '{"bootstrapServers":"a:1","auth":"scram","secret":"kafka"}', "name a secret below clockwork/"),
        ("kafka", '{"bootstrapServers":"a:1","subnetIds":["subnet-1"]}', "subnetIds and securityGroupIds go together"),
        ("kafka", '{"bootstrapServers":"a:1","subnetIds":"s"}', 'kafka.subnetIds: "s" is not of type "array"'),
        ("kafka", '{"bootstrapServers":1}', 'kafka.bootstrapServers: 1 is not of type "string"'),
        ("kafka", '{"bootstrapServers":"a:1","subnetIds":["s"]}', 'kafka.subnetIds.0: "s" does not match "^subnet-"'),
        ("kafka", '{"clusterArn":"jobs"}', "the ARN of an MSK cluster"),
        ("kafka", '{"bootstrapServers":"a:1","vpcId":"vpc-1"}', "vpcId is for create alone"),
        ("kafka", '{"bootstrapServers":"a:1","zones":["us-east-1a","us-east-1b"]}', "zones is for create alone"),
        ("kafka", '{"create":"msk"}', '"serverless" was expected'),
        ("kafka", '{"create":"serverless","zones":["us-east-1a"]}', "kafka.zones"),
        ("kafka", '{"create":"serverless","auth":"tls"}', "auth must be iam, or left out, with create"),
        ("kafka", '{"create":"serverless","bootstrapServers":"a:1"}', "cannot be given with create"),
        (
            "kafka",
            '{"create":"serverless","vpcId":"vpc-1","subnetIds":["subnet-1"]}',
            "subnetIds must be at least 2, in different zones",
        ),
        (
            "kafka",
            '{"create":"serverless","subnetIds":["subnet-1","subnet-2"]}',
            "subnetIds need vpcId, in which a security group is made, or securityGroupIds",
        ),
        ("kafka", '{"create":"serverless","vpcId":"vpc-1"}', "vpcId and securityGroupIds need subnetIds"),
        ("kafka", '{"bootstrapServers":"a:1","vpc":"v"}', "'vpc' was unexpected"),
        (
            "adopt",
            '{"queues":{"Release1":"Old-Release-1"}}',
            "Release1 is Old-Release-1, and would have to be Clockwork-",
        ),
        (
            "adopt",
            '{"queues":{"Release2":"Clockwork-Release-1"}}',
            "would have to be Clockwork-Release-2: only a stack of",
        ),
        ("targetQueueArns", "arn:aws:sqs:a:b:c,orders", 'targetQueueArns.1: "orders" does not match'),
        ("targetArns", "arn:aws:lambda:*:123456789012:function:*,arn:aws:s3:::x", 'targetArns.1: "arn:aws:s3:::x"'),
    ],
)
def test_a_value_that_cannot_be_used_is_named(name: str, value: str, said: str) -> None:
    (fault,) = faults_of(None, **{name: value})
    assert said in fault


def test_faults_of_the_file_and_of_the_command_are_told_at_once(tmp_path: Path) -> None:
    file = written(tmp_path, {"environments": {"production": {"shards": 0, "alarms": "every"}}})
    told = faults_of(file, tracing="yes", adminPrincipal=ADMIN)
    for fault in ("production.shards: 0", "production.alarms: ", "-c tracing: ", "-c adminPrincipal: no option"):
        assert len([one for one in told if fault in one]) == 1, told


def test_all_faults_are_told_at_once() -> None:
    cluster = {"create": "large", "auth": 1, "topics": "all", "color": "red"}
    assert len(faults_of(kafka=cluster, shards="0", name="x_y")) == 6
    faults = faults_of(kafka={"create": "serverless", "auth": "tls", "secret": "x", "vpcId": "vpc-1"}, queuePollers="9")
    assert len(faults) == 4


@pytest.mark.parametrize(
    "given",
    [{"create": "serverless"}, {"clusterArn": "arn:aws:kafka:us-east-1:123456789012:cluster/jobs/abc-1"}],
)
def test_the_local_stage_has_no_msk_to_ask(given: dict[str, str]) -> None:
    assert faults_of(stage="local", kafka=given) == ("kafka: the local stage has no MSK: give bootstrapServers",)
    assert options(kafka=given).kafka is not None


def test_json_is_as_good_as_a_text() -> None:
    given = {"bootstrapServers": "a:1,b:2", "topics": ["orders.*"]}
    chosen = options(kafka=given).kafka
    assert chosen == options(kafka=json.dumps(given)).kafka
    assert chosen is not None
    assert (chosen.bootstrap_servers, chosen.auth, chosen.topics) == ("a:1,b:2", "plain", ("orders.*",))
    assert options().kafka is None
    assert options(shards=7, releaseQueues="3").settings == options(shards="7", releaseQueues=3).settings


class TestTheFile:
    """deployment.json."""

    def test_an_environment_replaces_what_all_have_in_common(self, tmp_path: Path) -> None:
        file = written(
            tmp_path,
            {
                "common": {"shards": 5, "adminPrincipals": [ADMIN]},
                "environments": {"production": {}, "staging": {"name": "Staging", "shards": 2}},
            },
        )
        production, staging = (options(file, environment=name) for name in ("production", "staging"))
        assert (production.name, production.settings.shards) == ("Clockwork", 5)
        assert (staging.name, staging.settings.shards, staging.settings.secret_prefix) == ("Staging", 2, "staging/")
        assert staging.admin_principals == (ADMIN,)

    def test_a_value_on_the_command_line_takes_the_place_of_the_files(self, tmp_path: Path) -> None:
        file = written(tmp_path, {"environments": {"production": {"shards": 5}}})
        assert (options(file).settings.shards, options(file, shards="6").settings.shards) == (5, 6)

    def test_of_several_environments_one_must_be_named(self, tmp_path: Path) -> None:
        file = written(tmp_path, {"environments": {"production": {}, "staging": {}}})
        told = "give ENV=..., one of production, staging"
        assert faults_of(file) == (f"deployment.json has several environments: {told}",)
        assert faults_of(file, environment="test") == (f"deployment.json has no environment test: {told}",)

    def test_every_fault_of_every_environment_is_told_with_its_place(self, tmp_path: Path) -> None:
        document = {"common": {"shard": 1}, "environments": {"a": {"reserve": "yes"}, "b": {"kafka": {"create": "x"}}}}
        faults = faults_of(written(tmp_path, document), environment="a")
        assert len(faults) == 3
        assert any("environments.a.reserve" in fault for fault in faults)
        assert any("environments.b.kafka.create" in fault for fault in faults)
        assert any("common" in fault and "'shard' was unexpected" in fault for fault in faults)

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("{", "cannot be read"),
            ('{"environments": {"a": {"shards": 1, "shards": 2}}}', "shards stands twice in one object"),
            ("[]", 'is not of type "object"'),
            ('{"environments": {}}', "environments"),
            ('{"environments": {"Prod": {}}}', '"Prod" does not match'),
        ],
    )
    def test_what_is_no_deployment_is_refused(self, text: str, said: str, tmp_path: Path) -> None:
        assert said in "".join(faults_of(written(tmp_path, text)))

    def test_a_file_that_is_missing_is_named_with_what_to_begin_with(self, tmp_path: Path) -> None:
        (fault,) = faults_of(tmp_path / "deployment.json")
        assert fault == "deployment.json does not exist: begin with a copy of deployment.example.json"

    def test_the_local_stage_reads_no_file(self, tmp_path: Path) -> None:
        assert options(tmp_path / "deployment.json", stage="local").is_local

    def test_the_example_has_every_option_and_can_be_deployed(self) -> None:
        file = ROOT / "deployment.example.json"
        document: dict[str, Any] = json.loads(file.read_text())
        used = {name for one in (document["common"], *document["environments"].values()) for name in one}
        assert used == set(OPTIONS)
        for environment in document["environments"]:
            assert options(file, environment=environment).admin_principals

    def test_the_shipped_file_can_be_deployed(self) -> None:
        assert options_of(ROOT / "deployment.json", "") is not None


class TestSharesOfTheDeliverers:
    """No event source may start more than its share, and together they start no more than were asked for."""

    @pytest.mark.parametrize("queues", [1, 2, 7, 24])
    @pytest.mark.parametrize("deliverers", [4, 10, 50, 100, 999, 20_000])
    def test_they_add_up_to_no_more_than_were_asked_for(self, deliverers: int, queues: int) -> None:
        divided = concurrency.shares(deliverers, queues)
        assert divided.ordered >= concurrency.LEAST
        if divided.plain >= concurrency.LEAST:
            assert deliverers - queues < divided.ordered + divided.plain * queues <= deliverers
        else:
            assert f"give at least {2 * (queues + 1)}" in next(concurrency.faults(deliverers, queues, pollers=0))

    def test_what_is_told_as_the_least_is_enough(self) -> None:
        for queues in range(1, 25):
            least = next(n for n in range(1_000) if concurrency.shares(n, queues).plain >= concurrency.LEAST)
            assert not list(concurrency.faults(least, queues, pollers=0))
            assert next(concurrency.faults(least - 1, queues, pollers=0)).endswith(f"give at least {least}")
