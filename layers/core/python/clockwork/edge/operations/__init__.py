"""The operations: what each route does."""
