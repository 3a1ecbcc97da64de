"""Texts without their words: each word becomes another of its length, the same for the same word.

Kept: white space, line breaks, punctuation, the number of words, each word's length in characters and which of its
letters are capitals, and every repetition: equal words stay equal and different ones different (but for words of one or
two characters, of which there are too few), so that what a lookup drafter could copy it still can. Numbers become other
numbers of as many digits. Chinese and Japanese characters, and letters that are symbols, are replaced one by one.

Not kept: meaning, language, spelling. The number of tokens stays only roughly: words come from a short list of
English ones, then from pairs of them, then are made up of syllables, in the order in which a log's words first come.
Runs without spaces in other scripts, such as Thai, are one word each.

Words are drawn by HMAC-SHA256 under a secret, so that nobody without it can find a word by trying all words. Lengths,
punctuation and frequencies remain and may tell something, of characters replaced one by one most of all.
"""

from __future__ import annotations

import hmac
import re
import secrets
import sys
import unicodedata
from collections import defaultdict
from functools import cache
from importlib.resources import files

_CONSONANTS, _VOWELS, _LETTERS = "bcdfghjklmnpqrstvwz", "aeiou", "abcdefghijklmnopqrstuvwxyz"
_DIGITS = "0123456789"
_UNSPACED = (
    *((0x3041, 0x3096), (0x30A1, 0x30FA), (0x3400, 0x4DBF), (0x4E00, 0x9FFC)),
    *((0x249C, 0x24E9), (0x1F110, 0x1F12B), (0x1F130, 0x1F149), (0x1F150, 0x1F169), (0x1F170, 0x1F189)),
    (0x1F1E6, 0x1F1FF),
)
"""Kana and Chinese characters, then Latin letters that are symbols: every code point of these ranges is one."""

_SINGLE, _PAIRED, _ATTEMPTS = 20, 60, 100
"""Draws of a listed word, of a pair of them and in all, until one stands for no other word."""


class Hasher:
    """Replaces words, equal ones by equal ones, for as long as it lives.

    Args:
        secret: What the replacements depend on; made anew, and known to nobody, where it is null.
    """

    def __init__(self, secret: bytes | None = None) -> None:
        self._secret = secrets.token_bytes(32) if secret is None else secret
        self._known: dict[str, str] = {}
        self._written: dict[str, str] = {}
        """The same by words as they were written, capitals and all."""
        self._taken: set[str] = set()

    def text(self, text: str) -> str:
        """Return a text of the same form without its words."""
        return _words().sub(lambda match: self._replaced(match.group()), unicodedata.normalize("NFC", text))

    def _replaced(self, word: str) -> str:
        if word not in self._written:
            self._written[word] = self._rewritten(word)
        return self._written[word]

    def _rewritten(self, word: str) -> str:
        lowered = word.lower()
        if len(lowered) != len(word):  # a capital that is two letters when small
            lowered = word
        if lowered not in self._known:
            self._known[lowered] = self._new(lowered)
        pairs = zip(self._known[lowered], word, strict=True)
        return "".join(letter.upper() if shape.isupper() else letter for letter, shape in pairs)

    def _new(self, word: str) -> str:
        for attempt in range(_ATTEMPTS):
            found = self._drawn(word, attempt)
            if found != word and found not in self._taken:
                break
        self._taken.add(found)
        return found

    def _drawn(self, word: str, attempt: int) -> str:
        draws = self._draws(f"{attempt}:{word}", len(word))
        block = next(((low, high) for low, high in _UNSPACED if low <= ord(word[0]) <= high), None)
        if block is not None:
            return chr(block[0] + draws[0] % (block[1] - block[0] + 1))
        if word[0].isdigit():
            return "".join(_DIGITS[draw % 10] for draw in draws)
        if len(word) == 1:
            return _LETTERS[draws[0] % 26]
        listed = _listed()
        if attempt < _SINGLE and len(word) in listed:
            return listed[len(word)][draws[0] % len(listed[len(word)])]
        cut = 2 + draws[1] % max(len(word) - 3, 1)
        if attempt < _PAIRED and len(word) >= 4 and {cut, len(word) - cut} <= listed.keys():
            front, back = listed[cut], listed[len(word) - cut]
            return front[draws[0] % len(front)] + back[draws[2] % len(back)]
        kinds = (_CONSONANTS, _VOWELS)
        return "".join(kinds[place % 2][draw % len(kinds[place % 2])] for place, draw in enumerate(draws))

    def _draws(self, word: str, number: int) -> list[int]:
        """Return so many numbers below 2^32; the word is hashed once, and what follows its digest from that."""
        blocks = [self._digest(f"0:{word}".encode())]
        blocks += [self._digest(b"%d:" % block + blocks[0]) for block in range(1, -(-number // 8))]
        stream = b"".join(blocks)
        return [int.from_bytes(stream[place : place + 4], "big") for place in range(0, 4 * number, 4)]

    def _digest(self, message: bytes) -> bytes:
        return hmac.digest(self._secret, message, "sha256")


@cache
def _listed() -> dict[int, list[str]]:
    """Return the words of the prose that ships with Draftmark, by length, in the order of the alphabet."""
    text = files("draftmark.suites.builtin").joinpath("corpus.md").read_text(encoding="utf-8")
    found: defaultdict[int, list[str]] = defaultdict(list)
    for word in sorted(set(re.findall(r"[a-z]+", text.lower()))):
        found[len(word)].append(word)
    return dict(found)


@cache
def _words() -> re.Pattern[str]:
    """Match a character that is replaced alone, a number, or a word with the marks that belong to its letters.

    Words of ASCII come first, as what follows finds them too but takes twelve times as long.
    """
    alone = "".join(f"{chr(low)}-{chr(high)}" for low, high in _UNSPACED)
    points = (chr(code) for code in range(sys.maxunicode + 1))
    marks = re.escape("".join(point for point in points if unicodedata.category(point)[0] == "M"))
    ascii_word = r"[A-Za-z]++(?![\x80-\U0010ffff])"
    return re.compile(rf"{ascii_word}|[{alone}]|\d+|[^\W\d_{alone}](?:[^\W\d_{alone}]|[{marks}])*")
