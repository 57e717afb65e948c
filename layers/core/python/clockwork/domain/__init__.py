"""Values and decisions: pure. No clock, no ids, no randomness, no I/O."""
