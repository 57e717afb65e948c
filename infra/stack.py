"""Composes the stack of constructs, each of which a file beside this one defines."""

from __future__ import annotations

from dataclasses import replace

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from constructs import Construct

from infra.admins import Admins
from infra.api import Api
from infra.ends import Ends, tells_ends
from infra.function_url import FunctionUrl
from infra.functions import Functions
from infra.ingestion import Ingestion
from infra.kafka.msk import completed
from infra.observability.alarms import Alarms
from infra.observability.dashboard import Dashboard
from infra.options import Options
from infra.outputs import declare_outputs
from infra.packaging.layers import Layers
from infra.permissions import EMULATED
from infra.pools import declare_policies, policy_of
from infra.queues import Queues
from infra.storage import Storage
from infra.triggers import Triggers


class ClockworkStack(cdk.Stack):
    """The whole scheduler as one stack. Its template names no account and no region."""

    def __init__(self, scope: Construct, construct_id: str, *, options: Options) -> None:
        qualifier = options.value("bootstrapQualifier")
        super().__init__(
            scope,
            construct_id,
            # Without an option the CDK goes by its own context, `@aws-cdk/core:bootstrapQualifier`.
            synthesizer=cdk.DefaultStackSynthesizer(qualifier=qualifier) if qualifier else None,
            stack_name=options.name,
            termination_protection=options.value("terminationProtection"),
            description="Clockwork: a durable, distributed job scheduler",
            tags=dict(options.tags),
        )
        self.node.set_context(EMULATED, options.settings.stage == "local")
        if boundary := options.value("permissionsBoundary"):
            iam.PermissionsBoundary.of(self).apply(_boundary(self, boundary))
        self.template_options.metadata = {"Clockwork": {"options": dict(options.given)}}
        if options.kafka:
            options = replace(options, kafka=completed(self, options.kafka))
        storage = Storage(self, "Storage", options=options)
        queues = Queues(self, "Queues", options=options)
        layers = Layers(self, "Layers", options=options)
        ingestion = Ingestion(self, "Ingestion", options=options) if options.ingests else None
        functions = Functions(
            self,
            "Functions",
            options=options,
            storage=storage,
            queues=queues,
            layers=layers,
            ingestion=ingestion,
        )
        takes = [functions.api, *filter(None, [functions.by_moment.get("workers")])]
        admins = Admins(self, "Admins", options=options, clients=storage.tables["clients"], layers=layers)
        admins.precede(functions.live(one) for one in takes)
        if tells_ends(options):
            Ends(self, "Ends", options=options).feed(functions.deliverer)
        Triggers(self, "Triggers", options=options, functions=functions, queues=queues)
        workers = functions.by_moment.get("workers")
        api: Api | FunctionUrl
        policies = {}
        if options.value("api") == "functionUrl":
            handler = functions.live(functions.api)
            api = FunctionUrl(self, "Api", handler=handler, function=functions.api)
        else:
            api = Api(
                self,
                "Api",
                handler=functions.live(functions.api),
                workers=functions.live(workers) if workers else None,
                options=options,
            )
            policies = {
                pool: policy_of(self, pool, queues=of_pool, api=api, key_arn=options.key_arn)
                for pool, of_pool in queues.pools.items()
            }
        alarms = Alarms(
            self,
            "Alarms",
            options=options,
            storage=storage,
            queues=queues,
            functions=functions,
            api=api,
            ingestion=ingestion,
        )
        Dashboard(
            self,
            "Dashboard",
            options=options,
            storage=storage,
            queues=queues,
            functions=functions,
            alarms=alarms,
        )
        declare_outputs(self, storage=storage, queues=queues, functions=functions, api=api, ingestion=ingestion)
        declare_policies(self, policies)


def _boundary(stack: cdk.Stack, named: str) -> iam.IManagedPolicy:
    """The managed policy of an ARN, or of a name in the account."""
    if named.startswith("arn:"):
        return iam.ManagedPolicy.from_managed_policy_arn(stack, "Boundary", named)
    return iam.ManagedPolicy.from_managed_policy_name(stack, "Boundary", named)
