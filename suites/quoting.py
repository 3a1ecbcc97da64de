"""How values of others are quoted in sentences: in ASCII, and cut, since they may be as long as they like."""

from __future__ import annotations


def quoted(value: object, most: int = 40) -> str:
    """Return a text in quotes, or any other value as Python writes it, at most about `most` characters of it."""
    if isinstance(value, str):
        return ascii(cut(value, most))
    return cut(ascii(value), most)


def cut(text: str, most: int) -> str:
    """Return a text that ends in an ellipsis if it had more than `most` characters."""
    return text if len(text) <= most else text[: most - 1] + "…"
