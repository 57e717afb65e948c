"""Cron schedules: an expression is compiled once at the edge, the engine knows only the compiled value.

``parser`` reads text, ``compiled`` is the stored value, ``engine`` answers "when next?", ``zones`` holds the time
zone arithmetic, ``description`` says a schedule in English, ``exclusion`` holds what a schedule leaves out.
Nothing is re-exported here, so that importing the engine does not import the parser.
"""
