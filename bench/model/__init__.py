"""A model of AWS in virtual time, with the limits that decide at scale; what Clockwork decides is its own code."""
