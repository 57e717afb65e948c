"""A model of AWS in virtual time, with the limits that decide at scale; Clockwork's decisions are its own code's."""
