"""Operations: a client asks for the change of many; sweeps carry it out, a call's worth at a time."""
