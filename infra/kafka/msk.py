"""Amazon MSK: makes a serverless cluster in its network, and asks for the addresses of a cluster's brokers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_msk as msk
from aws_cdk import custom_resources as custom
from constructs import Construct

from infra.kafka.cluster import KafkaCluster

#: Ports of the brokers of MSK Serverless, and of HTTPS for the endpoints of AWS services:
#: https://docs.aws.amazon.com/msk/latest/developerguide/port-info.html
PORTS = (9098, 443)
ZONES = 2
#: AWS's reference of actions names no resource for it, so a policy must not name one either.
#: https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonmanagedstreamingforapachekafka.html
GET_BROKERS = "kafka:GetBootstrapBrokers"
#: MSK's names for the brokers' addresses, by the way in which a client authenticates:
#: https://docs.aws.amazon.com/msk/1.0/apireference/clusters-clusterarn-bootstrap-brokers.html
ADDRESSES = {
    "plain": "BootstrapBrokerString",
    "tls": "BootstrapBrokerStringTls",
    "scram": "BootstrapBrokerStringSaslScram",
    "iam": "BootstrapBrokerStringSaslIam",
}


def completed(scope: Construct, cluster: KafkaCluster) -> KafkaCluster:
    """The cluster with the values that only MSK or the stack can fill in; nothing is made if all of them were given."""
    if cluster.is_new:
        cluster = ServerlessCluster(scope, "KafkaCluster", wanted=cluster).cluster
    if cluster.is_asked_of_msk:
        cluster = replace(cluster, bootstrap_servers=Brokers(scope, "KafkaBrokers", cluster=cluster).addresses)
    return cluster


class ServerlessCluster(Construct):
    """A new cluster of MSK Serverless; `cluster` is the wanted one with its ARN and its network filled in.

    The cluster outlives the stack, with the network that was made for it: its topics are not Clockwork's to delete.
    """

    def __init__(self, scope: Construct, construct_id: str, *, wanted: KafkaCluster) -> None:
        super().__init__(scope, construct_id)
        placed = wanted if wanted.subnet_ids else self._placed_in_new_network(wanted)
        if not placed.security_group_ids:
            placed = replace(placed, security_group_ids=(self._security_group(placed.vpc_id),))
        made = msk.CfnServerlessCluster(
            self,
            "Cluster",
            # Always the same name: CloudFormation refuses a change that would need a new cluster, and replaces none.
            cluster_name=cdk.Names.unique_resource_name(self, max_length=64, separator="-"),
            client_authentication={"sasl": {"iam": {"enabled": True}}},
            vpc_configs=[
                msk.CfnServerlessCluster.VpcConfigProperty(
                    subnet_ids=list(placed.subnet_ids), security_groups=list(placed.security_group_ids)
                )
            ],
        )
        for resource in self.node.find_all():
            if isinstance(resource, cdk.CfnResource):
                resource.apply_removal_policy(cdk.RemovalPolicy.RETAIN)
        self.cluster = replace(placed, cluster_arn=made.attr_arn)
        outputs = {
            "KafkaClusterArn": made.attr_arn,
            "KafkaSubnetIds": cdk.Fn.join(",", list(placed.subnet_ids)),
            "KafkaSecurityGroupIds": cdk.Fn.join(",", list(placed.security_group_ids)),
        }
        for name, value in outputs.items():
            cdk.CfnOutput(cdk.Stack.of(self), name, value=value)

    def _placed_in_new_network(self, wanted: KafkaCluster) -> KafkaCluster:
        """The wanted cluster in a new network, which has no way in, and out only to the AWS services that are called.

        It has isolated subnets, an endpoint of each such service, and a security group.
        """
        isolated = ec2.SubnetConfiguration(name="Kafka", subnet_type=ec2.SubnetType.PRIVATE_ISOLATED)
        zones: dict[str, Any] = {"availability_zones": list(wanted.zones)} if wanted.zones else {"max_azs": ZONES}
        vpc = ec2.Vpc(self, "Network", nat_gateways=0, subnet_configuration=[isolated], **zones)
        group_id = self._security_group(vpc.vpc_id)
        group = ec2.SecurityGroup.from_security_group_id(self, "Members", group_id, mutable=False)
        vpc.add_gateway_endpoint("DynamoDb", service=ec2.GatewayVpcEndpointAwsService.DYNAMODB)
        services = {"Sqs": ec2.InterfaceVpcEndpointAwsService.SQS}
        if wanted.ingestion_topic:
            # Lambda reads a topic from this network:
            # https://docs.aws.amazon.com/lambda/latest/dg/with-msk-cluster-network.html
            services |= {
                "Lambda": ec2.InterfaceVpcEndpointAwsService.LAMBDA_,
                "Sts": ec2.InterfaceVpcEndpointAwsService.STS,
            }
        for name, service in services.items():
            vpc.add_interface_endpoint(name, service=service, security_groups=[group], open=False)
        subnet_ids = tuple(subnet.subnet_id for subnet in vpc.isolated_subnets)
        return replace(wanted, vpc_id=vpc.vpc_id, subnet_ids=subnet_ids, security_group_ids=(group_id,))

    def _security_group(self, vpc_id: str) -> str:
        """The id of a new security group, whose members can be reached by its other members alone."""
        description = "The Kafka cluster of Clockwork, and who speaks to it"
        group = ec2.CfnSecurityGroup(self, "SecurityGroup", group_description=description, vpc_id=vpc_id)
        for port in PORTS:
            ec2.CfnSecurityGroupIngress(
                self,
                f"Port{port}",
                group_id=group.attr_group_id,
                source_security_group_id=group.attr_group_id,
                ip_protocol="tcp",
                from_port=port,
                to_port=port,
                description="from members of this group",
            )
        return group.attr_group_id


class Brokers(Construct):
    """The `addresses` of a cluster's brokers: host:port, separated by commas.

    CloudFormation does not know them, so a custom resource asks MSK at deployment: a function of the CDK's own, with a
    role for nothing else. It asks anew when ARN or auth change.
    """

    def __init__(self, scope: Construct, construct_id: str, *, cluster: KafkaCluster) -> None:
        super().__init__(scope, construct_id)
        log = logs.LogGroup(
            self, "Log", retention=logs.RetentionDays.ONE_MONTH, removal_policy=cdk.RemovalPolicy.DESTROY
        )
        role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        log.grant_write(role)
        field = ADDRESSES[cluster.auth]
        asked = custom.AwsCustomResource(
            self,
            "Asked",
            on_update=custom.AwsSdkCall(
                service="kafka",
                action="GetBootstrapBrokers",
                parameters={"ClusterArn": cluster.cluster_arn},
                physical_resource_id=custom.PhysicalResourceId.of(f"{cluster.cluster_arn}#{field}"),
                output_paths=[field],
            ),
            policy=custom.AwsCustomResourcePolicy.from_statements(
                [iam.PolicyStatement(actions=[GET_BROKERS], resources=["*"])]
            ),
            role=role,
            log_group=log,
            # The SDK that the runtime brings along is enough: a deployment then fetches nothing from elsewhere.
            install_latest_aws_sdk=False,
        )
        self.addresses = asked.get_response_field(field)
