from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from draftmark.suites.subset import allocate, choose, describe


@dataclass(frozen=True)
class Row:
    question_id: str
    category: str | None = None
    sub_category: str | None = None


def rows_of(sizes: dict[tuple[str | None, str | None], int]) -> list[Row]:
    return [Row(f"{c}/{s}/{n}", c, s) for (c, s), size in sizes.items() for n in range(size)]


rows = st.lists(
    st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from(["x", "y", "z", None])), min_size=1, max_size=40
).map(lambda labels: [Row(f"q{n}", c, s) for n, (c, s) in enumerate(labels)])


def strata(chosen: list[Row]) -> Counter[tuple[str | None, str | None]]:
    return Counter((row.category, row.sub_category) for row in chosen)


def test_shares_are_in_proportion() -> None:
    rows = rows_of({("a", "x"): 12, ("a", "y"): 6, ("b", "x"): 6})
    assert strata([rows[index] for index in choose(rows, 8, seed=0)]) == {("a", "x"): 4, ("a", "y"): 2, ("b", "x"): 2}


def test_largest_remainder_gets_what_is_left() -> None:
    # exact shares of 5: 3.5, 1.0, 0.5; floors 3, 1, 0; either half may get the last place, but no stratum stays empty
    assert allocate({("a", None): 7, ("b", None): 2, ("c", None): 1}, 5, seed=3) == {
        ("a", None): 3,
        ("b", None): 1,
        ("c", None): 1,
    }


def test_a_small_stratum_takes_its_row_from_the_one_furthest_above_its_share() -> None:
    # exact shares of 4: 3.88, 0.08, 0.04 -> 4, 0, 0 -> both small ones take one from the large one
    assert allocate({("a", None): 97, ("b", None): 2, ("c", None): 1}, 4, seed=0) == {
        ("a", None): 2,
        ("b", None): 1,
        ("c", None): 1,
    }


def test_with_fewer_places_than_strata_each_category_gets_its_largest_first() -> None:
    sizes: dict[tuple[str | None, str | None], int] = {
        ("a", "x"): 9, ("a", "y"): 8, ("a", "z"): 7, ("b", "x"): 1, ("b", "y"): 2,
    }  # fmt: skip
    assert {stratum for stratum, share in allocate(sizes, 2, seed=5).items() if share} == {("a", "x"), ("b", "y")}


def test_the_choice_is_pinned() -> None:
    """The same rows on every machine and Python: changing this changes what published subsets hold."""
    assert choose([Row(f"q{n}") for n in range(20)], 6, seed=0) == [1, 2, 3, 6, 9, 15]


def test_another_seed_takes_other_rows() -> None:
    plenty = [Row(f"q{n}") for n in range(200)]
    assert choose(plenty, 20, seed=0) != choose(plenty, 20, seed=1)


def test_a_subset_is_no_prefix() -> None:
    plenty = [Row(f"q{n}") for n in range(200)]
    assert all(choose(plenty, 20, seed)[-1] >= 100 for seed in range(20))


def test_no_limit_and_a_limit_at_or_above_the_size_take_all() -> None:
    few = [Row("q1"), Row("q2"), Row("q3")]
    assert choose(few, None, 0) == choose(few, 3, 0) == choose(few, 99, 7) == [0, 1, 2]


@given(rows=rows, limit=st.integers(1, 50), seed=st.integers(0, 5))
def test_size_order_and_coverage_hold_for_all_rows(rows: list[Row], limit: int, seed: int) -> None:
    chosen = choose(rows, limit, seed)
    assert len(chosen) == min(limit, len(rows))
    assert chosen == sorted(set(chosen))
    available, taken = strata(rows), strata([rows[index] for index in chosen])
    if limit >= len(available):
        assert set(taken) == set(available)
    else:
        assert max(taken.values()) == 1
        assert len({c for c, _ in taken}) == min(limit, len({c for c, _ in available}))


@given(rows=rows, limit=st.integers(1, 50))
def test_shares_stay_within_one_of_proportion_where_all_strata_are_large(rows: list[Row], limit: int) -> None:
    available, total = strata(rows), len(rows)
    if limit < total and all(limit * size >= total for size in available.values()):
        taken = strata([rows[index] for index in choose(rows, limit, 0)])
        assert all(abs(taken[s] - limit * size / total) < 1 for s, size in available.items())


@given(rows=rows, limit=st.integers(1, 50), data=st.data())
def test_the_order_of_the_file_does_not_matter(rows: list[Row], limit: int, data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(rows))
    assert {rows[i].question_id for i in choose(rows, limit, 2)} == {
        shuffled[i].question_id for i in choose(shuffled, limit, 2)
    }


def test_the_words_say_what_was_taken() -> None:
    assert describe(24, 24, 3) == "all 24 prompts"
    assert "8 of 24" in describe(8, 24, 3)
    assert "seed 3" in describe(8, 24, 3)
