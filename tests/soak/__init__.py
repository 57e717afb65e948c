"""A soak: a steady load on the deployed local stack for some minutes, to find memory or lateness that grows."""
