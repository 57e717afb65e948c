"""The development server: the local stack at one fixed address, with fixed keys, until Ctrl-C.

python -m local.dev [--port N] [--state FOLDER] [--tour]
"""
