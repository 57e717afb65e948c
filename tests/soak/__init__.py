"""A soak: a steady load on the deployed local stack for some minutes; does anything grow that should not?"""
