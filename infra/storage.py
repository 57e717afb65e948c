"""The five DynamoDB tables.

They have on-demand capacity, since a scheduler's load is a herd on the hour and silence between the herds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_dynamodb as dynamodb
from constructs import Construct

from infra.options import Options

#: A sparse index of the executions table, by due instant. Only executions that need attention carry its keys: DEAD
#: ones, and redriven ones that nobody has claimed yet.
ATTENTION_INDEX = "attention"
#: Another one, of the executions that have ended, of clients that asked for it by `runsIndex`. A page looks at states.
RUNS_INDEX = "runs"

#: The tables whose load grows with the number of jobs.
BUSIEST = ("timeline", "executions")


@dataclass(frozen=True)
class _Key:
    partition: str
    sort: str | None = None
    expires: bool = True


_KEYS = {
    "timeline": _Key("partitionId", "scheduleTime"),
    "jobs": _Key("clientId", "jobKey"),
    "executions": _Key("jobId", "executionId"),
    "shards": _Key("partitionId", expires=False),
    "clients": _Key("clientId", "item"),
}


class Storage(Construct):
    """The `tables` by name: timeline, jobs, executions, shards, clients. In an account they outlive the stack.

    Those that a stack before has left are taken by their names, if the options give them, and stay as they are.
    """

    def __init__(self, scope: Construct, construct_id: str, *, options: Options) -> None:
        super().__init__(scope, construct_id)
        self.tables: Mapping[str, dynamodb.ITableV2]
        self._key_arn = options.key_arn
        self._warm = options.value("warmThroughput") or {}
        if options.adopted_tables:
            self.tables = {name: self._adopted(name, options.adopted_tables[name]) for name in _KEYS}
        else:
            self.tables = self._made(disposable=not options.keeps)

    def _adopted(self, name: str, table: str) -> dynamodb.ITableV2:
        return dynamodb.TableV2.from_table_name(self, name.capitalize(), table)

    def _made(self, *, disposable: bool) -> dict[str, dynamodb.TableV2]:
        tables = {name: self._table(name, key, disposable=disposable) for name, key in _KEYS.items()}
        tables["executions"].add_global_secondary_index(
            index_name=ATTENTION_INDEX,
            partition_key=_string("attentionClientId"),
            sort_key=_string("attentionKey"),
            projection_type=dynamodb.ProjectionType.KEYS_ONLY,
        )
        tables["executions"].add_global_secondary_index(
            index_name=RUNS_INDEX,
            partition_key=_string("runsClientId"),
            sort_key=_string("runsKey"),
            projection_type=dynamodb.ProjectionType.INCLUDE,
            non_key_attributes=["state"],
        )
        return tables

    def _table(self, name: str, key: _Key, *, disposable: bool) -> dynamodb.TableV2:
        optional: dict[str, Any] = {}
        if key.sort:
            optional["sort_key"] = _string(key.sort)
        if name in BUSIEST and self._warm:
            optional["warm_throughput"] = dynamodb.WarmThroughput(
                read_units_per_second=self._warm.get("readUnitsPerSecond"),
                write_units_per_second=self._warm.get("writeUnitsPerSecond"),
            )
        if key.expires:
            optional["time_to_live_attribute"] = "expiresAt"
        table = dynamodb.TableV2(
            self,
            name.capitalize(),
            partition_key=_string(key.partition),
            billing=dynamodb.Billing.on_demand(),
            # A key of AWS's own: one in the account is billed by the request.
            encryption=dynamodb.TableEncryptionV2.dynamo_owned_key(),
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True
            ),
            deletion_protection=not disposable,
            removal_policy=cdk.RemovalPolicy.DESTROY if disposable else cdk.RemovalPolicy.RETAIN,
            **optional,
        )
        if self._key_arn:
            _encrypt(table, self._key_arn)
        return table


def _encrypt(table: dynamodb.TableV2, key_arn: str) -> None:
    """Let a table be encrypted by a key of the deployment.

    It is set at the CloudFormation resource: the CDK renders such a key only in a stack whose region it knows.
    """
    resource = table.node.default_child
    assert isinstance(resource, dynamodb.CfnGlobalTable)
    resource.add_property_override("SSESpecification", {"SSEEnabled": True, "SSEType": "KMS"})
    resource.add_property_override("Replicas.0.SSESpecification.KMSMasterKeyId", key_arn)


def _string(name: str) -> dynamodb.Attribute:
    return dynamodb.Attribute(name=name, type=dynamodb.AttributeType.STRING)
