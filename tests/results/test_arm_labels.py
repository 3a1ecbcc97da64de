"""Arm labels: short where they can be, and never the same for two different arms."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from draftmark.results.arm_labels import arm_labels
from draftmark.results.records import Arm


def ngram(draft_length: int = 3, **options: object) -> Arm:
    return Arm(drafter="ngram", draft_length=draft_length, options=options)


def test_labels_stay_short_where_drafter_and_d_tell_arms_apart() -> None:
    arms = [
        Arm(drafter="none", draft_length=0),
        Arm(drafter="none", draft_length=0, control=True),
        ngram(3, max_match=3),
        ngram(8, max_match=4),
    ]
    assert arm_labels(arms) == ["none", "none (control)", "ngram D=3", "ngram D=8"]


def test_the_options_that_differ_are_in_the_label() -> None:
    arms = [ngram(max_match=3, min_match=1), ngram(max_match=4, min_match=1), ngram(8, max_match=4, min_match=1)]
    assert arm_labels(arms) == ["ngram D=3 (max_match=3)", "ngram D=3 (max_match=4)", "ngram D=8"]


def test_an_option_that_one_arm_lacks_is_null_there() -> None:
    assert arm_labels([ngram(), ngram(model="a")]) == ["ngram D=3 (model=null)", "ngram D=3 (model=a)"]


def test_the_same_arm_has_the_same_label_in_every_cell() -> None:
    assert arm_labels([ngram(a=1), ngram(a=2), ngram(a=1)]) == [
        "ngram D=3 (a=1)",
        "ngram D=3 (a=2)",
        "ngram D=3 (a=1)",
    ]


def test_long_values_are_shortened_and_then_numbered() -> None:
    first, second = arm_labels([ngram(model="/models/" + "x" * 100 + end) for end in "ab"])
    assert first == f"ngram D=3 (model={'x' * 39}…)"
    assert second == f"{first} #2"


def test_of_local_paths_labels_hold_the_ends_that_tell_them_apart() -> None:
    apart = [ngram(model="/home/ann/models/tiny"), ngram(model="/home/ann/models/small")]
    assert arm_labels(apart) == ["ngram D=3 (model=tiny)", "ngram D=3 (model=small)"]
    alike = [ngram(model="/home/ann/old/tiny"), ngram(model="/home/ann/new/tiny"), ngram(model="org/tiny")]
    assert arm_labels(alike) == [f"ngram D=3 (model={end})" for end in ("old/tiny", "new/tiny", "org/tiny")]


ARMS = st.builds(
    Arm,
    drafter=st.sampled_from(["a", "a D=1", "none"]),
    draft_length=st.integers(0, 2),
    options=st.dictionaries(st.sampled_from("xy"), st.sampled_from([1, "1", None, "z" * 60, "z" * 61])),
    control=st.booleans(),
)


@given(st.lists(ARMS, max_size=6))
def test_labels_are_equal_exactly_where_arms_are(arms: list[Arm]) -> None:
    labels = arm_labels(arms)
    for arm, label in zip(arms, labels, strict=True):
        for other, other_label in zip(arms, labels, strict=True):
            assert (label == other_label) == (arm == other)
