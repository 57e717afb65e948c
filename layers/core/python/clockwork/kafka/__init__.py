"""The ports on Kafka."""
