"""Text from plans, suites, models and engines made harmless for terminals and pages: nothing in it is acted on."""

from __future__ import annotations

import unicodedata

_UNSAFE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
"""Unicode categories that a terminal or browser may act on, reorder or not show."""


def harmless(text: str, *, keep_newlines: bool = False) -> str:
    r"""Return a text in which every control, format and unassigned character is spelt out, such as `\x1b`.

    Escapes, carriage returns, bidirectional overrides and zero-width characters stay visible and do nothing.
    """
    return "".join(_shown(character, keep_newlines) for character in text)


def _shown(character: str, keep_newlines: bool) -> str:
    if character == "\n" and keep_newlines:
        return character
    if unicodedata.category(character) not in _UNSAFE:
        return character
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
