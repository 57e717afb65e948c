"""The console: pages on 127.0.0.1 that show one Clockwork, and act with the credentials of the reader.

`clockwork console` starts it. It needs the extra `console`, and no other part of this package imports it.
"""
