"""The whole stack on this machine: the same CDK app, deployed into an AWS emulator."""
