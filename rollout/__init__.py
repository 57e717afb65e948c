"""The commands of a deployment into an account: what is checked before it, and how a stack is taken away."""
