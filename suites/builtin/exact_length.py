"""Fit a text to an exact number of tokens by rendering it again and again; nothing is assumed of the tokenizer.

Tokens merge across seams, so a longer text may have fewer of them. The search therefore trusts nothing but a rendering:
it finds how many whole units fit, fills the rest with words, then with single characters, and tries fewer units where
that misses the target.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from draftmark.suites.prompt import SuiteError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

MOST_WORDS = 400
"""Filler words that may stand in for missing units."""

_WORD_ROUNDS = 12
_UNITS_GIVEN_UP = 6
_PIECES = (" a", " to", " I", " x", ".", ",", "-", "0", "1", "7", "e", "q", "z", " q", " 4", " no", " of", "\n", " is")


class Text(Protocol):
    """A prompt that is not finished: so many units of material and so much filler."""

    def __call__(self, units: int, filler: str) -> str:
        """Return the whole text."""
        ...


def fit(
    text: Text, count: Callable[[str], int], target: int, words: Sequence[str], *, least_units: int, most_units: int
) -> str:
    """Return a text of which `count` says exactly `target`.

    `words` is what filler is made of, used in turn. Raises `SuiteError` where the least text is already too long, the
    most is too short, or no filling hits the target.
    """
    least = count(text(least_units, words[0]))
    if least > target:
        raise SuiteError(f"it has at least {least} tokens, the chat template included, and was asked to have {target}")
    units = most_that_fit(lambda n: count(text(n, words[0])), target, least_units, most_units)
    if units == most_units and target - count(text(units, words[0])) > MOST_WORDS:
        raise SuiteError(
            f"its material ends at {count(text(units, words[0]))} tokens and it was asked to have {target}; "
            "ask for fewer prompt_tokens"
        )
    for fewer in range(_UNITS_GIVEN_UP):
        if units - fewer < least_units:
            break
        found = _fill(lambda filler, n=units - fewer: text(n, filler), count, target, words)  # type: ignore[misc]
        if found is not None:
            return found
    raise SuiteError(f"no filling of it has exactly {target} tokens with this tokenizer; ask for another prompt_tokens")


def most_that_fit(size: Callable[[int], int], target: int, low: int, high: int) -> int:
    """Return a number of units from `low` to `high` whose size is at most the target; `low` itself is taken to fit.

    It is the largest such number where sizes grow with units, and near it where they do not.
    """
    low_size = size(low)
    upper, step = low, 8
    while True:
        if upper == high:
            return high
        upper = min(upper + step, high)
        upper_size = size(upper)
        if upper_size > target:
            break
        low, low_size, step = upper, upper_size, 2 * step
    rounds = 0
    while upper - low > 1:
        rounds += 1
        guess = low + (target - low_size) * (upper - low) // (upper_size - low_size)
        middle = (low + upper) // 2 if rounds % 3 == 0 else min(max(guess, low + 1), upper - 1)
        middle_size = size(middle)
        if middle_size <= target:
            low, low_size = middle, middle_size
        else:
            upper, upper_size = middle, middle_size
    return low


def _fill(text: Callable[[str], str], count: Callable[[str], int], target: int, words: Sequence[str]) -> str | None:
    number, sizes = 1, dict[int, int]()
    for _ in range(_WORD_ROUNDS):
        sizes[number] = count(text(_filler(words, number)))
        if sizes[number] == target:
            return text(_filler(words, number))
        grown = max(sizes[number] - sizes[1], number - 1, 1)
        missing = target - sizes[number]
        number = max(number + (abs(missing) * max(number - 1, 1) // grown or 1) * (1 if missing > 0 else -1), 1)
        if number in sizes:
            break
    for number in sorted((n for n, size in sizes.items() if size < target), reverse=True)[:3]:
        for start in range(number, max(number - 3, 0), -1):
            found = _fill_with_pieces(text, count, target, _filler(words, start))
            if found is not None:
                return found
    return None


def _fill_with_pieces(text: Callable[[str], str], count: Callable[[str], int], target: int, filler: str) -> str | None:
    size = count(text(filler))
    while size < target:
        step = next(_longer(text, count, target, filler, size), None)
        if step is None:
            return None
        filler, size = step
    return text(filler) if size == target else None


def _longer(
    text: Callable[[str], str], count: Callable[[str], int], target: int, filler: str, size: int
) -> Iterator[tuple[str, int]]:
    for piece in _PIECES:
        longer = count(text(filler + piece))
        if size < longer <= target:
            yield filler + piece, longer


def _filler(words: Sequence[str], number: int) -> str:
    return " ".join(words[index % len(words)] for index in range(number))
