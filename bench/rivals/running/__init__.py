"""The runs of systems: their folders, processes, receiver, turns and kills."""
