"""Named jobs: create and change them, advance and repair their chains of fires, run them by hand."""
