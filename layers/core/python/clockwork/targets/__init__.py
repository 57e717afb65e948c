"""Where jobs go: one file for each type of target, with all that is true of that type alone."""
