"""How much at once: rates, concurrency, circuits, how far ahead pollers release."""
