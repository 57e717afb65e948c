"""The CDK app: one stack, for an account (`deployment.json` says which) or for the emulator (`-c stage=local`)."""

import sys

import aws_cdk as cdk

from infra import ROOT
from infra.deployment.document import NAME, InvalidDeployment
from infra.options import Options
from infra.stack import ClockworkStack


def main() -> None:
    """Synthesize the stack that the deployment's file and the CDK context ask for."""
    app = cdk.App()
    try:
        options = Options.chosen(app.node, ROOT / NAME)
    except InvalidDeployment as refused:
        sys.exit(str(refused))
    ClockworkStack(app, "Clockwork", options=options)
    app.synth()


if __name__ == "__main__":
    main()
