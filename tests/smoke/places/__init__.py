"""Where a smoke runs: in the emulator, or in an account of AWS."""
