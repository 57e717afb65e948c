"""Texts of other people, made harmless for those who read them in a terminal or in a browser."""

from __future__ import annotations

import unicodedata

#: Categories of characters that nothing shows as themselves: controls, directions and joiners, half surrogates, private
#: and unassigned ones, and line ends.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
#: The most characters of a text on one line, unless said otherwise.
WIDEST = 400


def inert(text: object, widest: int = WIDEST, keep: str = "") -> str:
    r"""A text on one line, of bounded length, with invisible characters spelled out: `\x1b`, `\u202e`.

    The characters in `keep` stay as they are, such as the line ends of a text that is shown on many lines.
    """
    found = str(text)
    shown = found[:widest] + ("..." if len(found) > widest else "")
    if shown.isascii() and shown.isprintable():
        return shown
    return "".join(_spelled(one) if _is_unseen(one) and one not in keep else one for one in shown)


def _is_unseen(character: str) -> bool:
    return unicodedata.category(character) in _UNSEEN


def _spelled(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 128 else character.encode("ascii", "backslashreplace").decode()
