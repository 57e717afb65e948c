"""A construct for stacks of the CDK whose services create jobs: `pip install clockwork-client[cdk]`."""

from clockwork_client.cdk.construct import ClockworkClient

__all__ = ["ClockworkClient"]
