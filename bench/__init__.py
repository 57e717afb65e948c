"""What Clockwork costs and how it performs, measured."""
