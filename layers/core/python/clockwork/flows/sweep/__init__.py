"""The sweeper: it repairs things that other Lambdas left behind."""
