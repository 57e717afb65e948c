"""Names of signing secrets. The first letters tell names of parameters from names of secrets."""

from __future__ import annotations

#: The first letters of the name of a secret that lies in SSM Parameter Store, in front of the parameter's own name.
PARAMETERS = "ssm:"
