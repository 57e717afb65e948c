"""The deliverer: it attempts releases as they come due."""
