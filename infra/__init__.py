"""The CDK stack that a deployment is made of: one file per concern; `stack.py` composes them."""

from pathlib import Path

ROOT = Path(__file__).parent.parent
