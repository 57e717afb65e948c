"""Other schedulers: each program here runs in .venv-bench, in a process of its own."""
