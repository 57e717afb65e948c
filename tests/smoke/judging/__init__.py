"""The checks of a smoke. Pure: each says what is wrong with what was seen, in sentences; none if all is right."""
