"""What lets systems run: their folders, processes, receiver, turns and kills."""
