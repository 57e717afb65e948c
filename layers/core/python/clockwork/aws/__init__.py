"""Adapters that implement the ports on AWS: the only package of the core that makes calls with botocore."""
