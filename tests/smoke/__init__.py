"""The smoke: every kind of job on a deployed stack, in an account of AWS or in the emulator, judged check by check."""
