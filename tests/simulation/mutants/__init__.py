"""Mutation tests: break one thing at a time in copies of the tree, and see whether the checks notice."""
