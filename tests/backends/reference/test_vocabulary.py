"""Two vocabularies are one if every id is the same token, but for padding."""

from __future__ import annotations

from draftmark.backends.reference.vocabulary import vocabulary_problem

NO_PADDING: frozenset[str] = frozenset()


def test_equal_vocabularies_have_no_problem() -> None:
    assert vocabulary_problem({"a": 0, "b": 1}, {"b": 1, "a": 0}, NO_PADDING) is None


def test_the_lowest_differing_id_is_told_with_both_tokens_and_where_else_they_are() -> None:
    told = vocabulary_problem({"a": 0, "b": 1, "c": 2}, {"a": 0, "c": 1, "x": 2}, NO_PADDING)
    assert told == "id 1 is 'b' (not in the draft) in the target and 'c' (id 2 in the target) in the draft"


def test_a_token_that_one_side_lacks_is_a_difference() -> None:
    told = vocabulary_problem({"a": 0}, {"a": 0, "<tool>": 1}, NO_PADDING)
    assert told == "id 1 is no token in the target and '<tool>' (not in the target) in the draft"


def test_a_padding_token_that_one_side_lacks_is_none() -> None:
    assert vocabulary_problem({"a": 0}, {"a": 0, "[PAD]": 1}, frozenset({"[PAD]"})) is None
    assert vocabulary_problem({"a": 0, "[PAD]": 1}, {"a": 0}, frozenset({"[PAD]"})) is None


def test_a_padding_token_in_the_place_of_another_token_is_a_difference() -> None:
    assert vocabulary_problem({"a": 0, "b": 1}, {"a": 0, "[PAD]": 1}, frozenset({"[PAD]"})) is not None
