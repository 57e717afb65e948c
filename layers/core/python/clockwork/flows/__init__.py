"""The flows: a folder for each moment, each flow told as numbered steps. They touch the world only through ports."""
