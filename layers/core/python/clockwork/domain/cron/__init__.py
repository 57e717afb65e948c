"""Cron schedules: the edge compiles an expression once, and the engine reads only the compiled value.

``parser`` reads text, ``compiled`` is the stored value, and ``engine`` finds the next fire. ``zones`` has the time
zone arithmetic, ``description`` describes a schedule in English, and ``exclusion`` has the times that a schedule leaves
out. This package re-exports nothing, so that importing the engine does not import the parser.
"""
