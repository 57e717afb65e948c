"""The systems that stand side by side: how each is installed, started, killed and started again."""
