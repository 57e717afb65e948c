"""Names of signing secrets: those of parameters are told from those of secrets by their first letters."""

from __future__ import annotations

#: The first letters of the name of a secret that lies in SSM Parameter Store, in front of the parameter's own name.
PARAMETERS = "ssm:"
