"""All types of targets: their forms, answers, transports, permissions and the SDK's functions are made of these."""

from __future__ import annotations

from typing import get_args

from clockwork.targets.ecs import EcsTarget
from clockwork.targets.eventbridge import EventBridgeTarget
from clockwork.targets.http import HttpTarget
from clockwork.targets.kafka.target import KafkaTarget
from clockwork.targets.kinesis import KinesisTarget
from clockwork.targets.lambda_function import LambdaTarget
from clockwork.targets.pool import PoolTarget
from clockwork.targets.service import ROLES, TARGET_ARNS, ServiceTarget
from clockwork.targets.sns import SnsTarget
from clockwork.targets.sqs import SqsTarget
from clockwork.targets.step_functions import StepFunctionsTarget
from clockwork.targets.target import StoredTarget

#: The order is that of the API's description.
Target = (
    HttpTarget
    | SqsTarget
    | KafkaTarget
    | LambdaTarget
    | EventBridgeTarget
    | SnsTarget
    | KinesisTarget
    | StepFunctionsTarget
    | EcsTarget
    | PoolTarget
)
TARGETS: tuple[type[StoredTarget], ...] = get_args(Target)
#: The types of targets that are resources of AWS services.
SERVICE_TARGETS: tuple[type[ServiceTarget], ...] = tuple(one for one in TARGETS if issubclass(one, ServiceTarget))
#: Those that the option `targetArns` and a client's allowedTargetArns list.
LISTED = tuple(target for target in SERVICE_TARGETS if target.service.option == TARGET_ARNS)
#: The services of their ARNs, and that of the roles which the same lists allow; and their types in words.
LISTED_ARNS = (*(target.service.in_arns for target in LISTED), ROLES)
LISTED_TYPES = " and ".join(", ".join(str(one.__struct_config__.tag) for one in LISTED).rsplit(", ", 1))
