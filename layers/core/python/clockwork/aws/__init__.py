"""The ports on AWS: the only place that knows botocore."""
