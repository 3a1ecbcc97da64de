from __future__ import annotations

import hashlib
import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftmark.suites.builtin.exact_length import fit, most_that_fit
from draftmark.suites.prompt import SuiteError

WORDS = ("amber", "birch", "cedar", "dune")


def text(units: int, filler: str) -> str:
    return f"notes {filler}\n" + "".join(f"unit {n} of the material\n" for n in range(units)) + "what now?"


def by_words(content: str) -> int:
    return len(content.split())


def by_characters(content: str) -> int:
    return len(content)


def by_pieces_of_uneven_worth(seed: int, dearest: int) -> dict[str, int]:
    return {word: 1 + hashlib.sha256(f"{seed} {word}".encode()).digest()[0] % dearest for word in WORDS}


@pytest.mark.parametrize("target", [9, 10, 11, 57, 100, 101, 102, 103, 1000])
def test_words_fill_what_whole_units_leave(target: int) -> None:
    found = fit(text, by_words, target, WORDS, least_units=1, most_units=300)
    assert len(found.split()) == target
    assert found.startswith("notes amber")
    assert found.endswith("what now?")


@pytest.mark.parametrize("target", [60, 61, 62, 63, 64, 500, 501])
def test_a_token_per_character_is_hit_as_well(target: int) -> None:
    assert len(fit(text, by_characters, target, WORDS, least_units=1, most_units=300)) == target


@given(seed=st.integers(0, 1000), dearest=st.integers(1, 7), target=st.integers(60, 400))
def test_words_of_uneven_worth_are_topped_up_with_small_pieces(seed: int, dearest: int, target: int) -> None:
    worth = by_pieces_of_uneven_worth(seed, dearest)

    def count(content: str) -> int:
        return sum(worth.get(piece, 1) for piece in re.findall(r"\w+|[^\w\s]", content))

    assert count(fit(text, count, target, WORDS, least_units=1, most_units=100)) == target


@given(seed=st.integers(0, 1000), target=st.integers(60, 400))
def test_tokens_that_merge_across_seams_do_not_break_the_search(seed: int, target: int) -> None:
    """Some neighbours are one token together, so a longer text can have as many tokens as a shorter one, or fewer."""

    def count(content: str) -> int:
        words = re.findall(r"\w+|[^\w\s]|\s", content)
        merges = sum(
            hashlib.sha256(f"{seed}{a}{b}".encode()).digest()[0] % 3 == 0 for a, b in itertools.pairwise(words)
        )
        return len(words) - merges

    assert count(fit(text, count, target, WORDS, least_units=1, most_units=100)) == target


def test_a_target_below_the_least_text_says_how_long_that_is() -> None:
    # "notes amber", "unit 0 of the material", "what now?": 2 + 5 + 2 words
    with pytest.raises(SuiteError, match=r"at least 9 tokens, .* asked to have 8"):
        fit(text, by_words, 8, WORDS, least_units=1, most_units=10)


def test_a_target_beyond_the_material_says_where_it_ends() -> None:
    with pytest.raises(SuiteError, match="ends at 54 tokens and it was asked to have 5000"):
        fit(text, by_words, 5000, WORDS, least_units=1, most_units=10)


def test_an_odd_target_where_every_text_has_an_even_count_is_an_error() -> None:
    with pytest.raises(SuiteError, match="exactly 101 tokens"):
        fit(text, lambda content: 2 * by_words(content), 101, WORDS, least_units=1, most_units=100)


@given(steps=st.lists(st.integers(1, 9), min_size=1, max_size=60), target=st.integers(0, 300))
def test_the_search_finds_the_most_units_that_fit(steps: list[int], target: int) -> None:
    sizes = [0]
    for step in steps:
        sizes.append(sizes[-1] + step)
    expected = max(n for n, size in enumerate(sizes) if size <= target)
    assert most_that_fit(lambda n: sizes[n], target, 0, len(sizes) - 1) == expected
