"""The commands of a deployment into an account: its checks, and the removal of a stack."""
