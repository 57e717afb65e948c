"""The CDK app: one stack, `Clockwork`, for an account (`cdk deploy`) or for the emulator (`-c stage=local`)."""

import aws_cdk as cdk

from infra.options import Options
from infra.stack import ClockworkStack


def main() -> None:
    """Synthesize the stack for the options in the CDK context."""
    app = cdk.App()
    ClockworkStack(app, "Clockwork", options=Options.from_context(app.node))
    app.synth()


if __name__ == "__main__":
    main()
