"""Services tell by events how that ended which attempts began there."""
