"""The demonstration: some two hundred jobs through the local stack, counted where they arrive.

python -m local.demo
"""
