"""Which releases travel in one message, and in which turns."""
