"""Programs that the systems run, each in a process and an environment of its own; see `talk`."""
