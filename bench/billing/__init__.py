"""What is billed, metered in virtual time."""
