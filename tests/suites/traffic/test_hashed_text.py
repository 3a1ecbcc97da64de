"""What hashing a text keeps and what it takes away."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from draftmark.suites.traffic.hashed_text import Hasher

SECRET = b"a secret for tests"
TEXT = "The ferry, the FERRY and the Ferryman: 2031 boats!\n\n\tfor ferry in ferries:\n  return 7"


def words(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+|\d+", text)


def test_no_word_or_number_of_some_length_is_left() -> None:
    hashed = Hasher(SECRET).text(TEXT)
    assert not {word.lower() for word in words(TEXT) if len(word) > 3} & {word.lower() for word in words(hashed)}


def test_white_space_punctuation_lengths_and_capitals_stay() -> None:
    hashed = Hasher(SECRET).text(TEXT)
    shape = re.sub(r"[a-z]", "x", re.sub(r"[A-Z]", "X", re.sub(r"\d", "9", TEXT)))
    assert re.sub(r"[a-z]", "x", re.sub(r"[A-Z]", "X", re.sub(r"\d", "9", hashed))) == shape


def test_equal_words_stay_equal_and_others_different_over_all_texts_of_one_hasher() -> None:
    hasher = Hasher(SECRET)
    first, second = words(hasher.text(TEXT)), words(hasher.text("ferry 2031 ferries"))
    assert first[1].lower() == first[3].lower() == second[0]
    assert first[7] == second[1]
    assert second[2] == first[12]
    originals = [word.lower() for word in words(TEXT)]
    assert len(set(originals)) == len({word.lower() for word in first})


def test_the_same_secret_gives_the_same_words_and_none_gives_others_each_time() -> None:
    assert Hasher(SECRET).text(TEXT) == Hasher(SECRET).text(TEXT)
    assert Hasher().text(TEXT) != Hasher().text(TEXT)


def test_chinese_and_japanese_are_replaced_by_characters_of_their_own_kind() -> None:
    hashed = Hasher(SECRET).text("渡し船は船、abc船")
    assert len(hashed) == len("渡し船は船、abc船")
    assert hashed[2] == hashed[4] == hashed[9] != "船"
    assert "\u4e00" <= hashed[0] <= "\u9ffc"
    assert "\u3041" <= hashed[1] <= "\u3096"
    assert hashed[5] == "、"
    assert hashed[6:9].isascii()


def test_marks_belong_to_the_letters_before_them() -> None:
    hashed = Hasher(SECRET).text("नमस्ते दुनिया")
    assert re.fullmatch(r"[a-z]{6} [a-z]{6}", hashed)


@given(st.text(max_size=60))
def test_any_text_keeps_its_lines_and_its_length_after_composition(text: str) -> None:
    import unicodedata

    hashed = Hasher(SECRET).text(text)
    assert len(hashed) == len(unicodedata.normalize("NFC", text))
    assert hashed.count("\n") == text.count("\n")


def test_letters_that_are_symbols_are_words_too() -> None:
    hashed = Hasher(SECRET).text("Ⓐⓛⓘⓒⓔ 🅰🅻🅸 🇩🇪")
    assert not set("Ⓐⓛⓘⓒⓔ🅰🅻🅸🇩🇪") & set(hashed)
    assert [len(word) for word in hashed.split()] == [5, 3, 2]


def test_a_word_of_a_megabyte_takes_time_by_its_length_alone() -> None:
    """By the square it would take minutes, and run into the time limit."""
    hashed = Hasher(SECRET).text("ก" * 1_000_000 + " " + "a" * 1_000_000)
    assert [len(word) for word in hashed.split(" ")] == [1_000_000, 1_000_000]
