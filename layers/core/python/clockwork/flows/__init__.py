"""One file per moment, told as numbered steps. Flows touch the world only through ports."""
