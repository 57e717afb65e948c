"""The Kafka cluster of a deployment: Amazon MSK or another."""
