from __future__ import annotations

import hashlib
import re
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING

import pytest

from draftmark.suites.builtin import BuiltinSpec, corpus
from draftmark.suites.builtin.code_text import accessors, functions, settings
from draftmark.suites.builtin.corpus import prose_from, split_sections
from draftmark.suites.builtin.draws import Draws
from draftmark.suites.builtin.recipes import recipes
from draftmark.suites.builtin.record_text import (
    insert_statements,
    json_records,
    minutes,
    price_list,
    release_notes,
    service_log,
    station_table,
)
from draftmark.suites.prompt import Suite, SuiteError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from draftmark.suites.rendering import Renderer

GENERATORS = (
    service_log, station_table, price_list, insert_statements, json_records, release_notes, minutes, settings,
    accessors, functions,
)  # fmt: skip


def build(renderer: Renderer | None, **settings: object) -> Suite:
    return BuiltinSpec.model_validate({"kind": "builtin", "name": "long-sequence", **settings}).load(renderer)


@pytest.fixture(scope="module")
def whole(renderer: Renderer) -> Suite:
    return build(renderer)


def test_every_prompt_has_exactly_the_asked_tokens_after_the_template(whole: Suite, renderer: Renderer) -> None:
    counts = {len(renderer.prompt_ids([{"role": "user", "content": prompt.turns[0]}])) for prompt in whole.prompts}
    assert counts == {1000}
    assert {prompt.prompt_tokens for prompt in whole.prompts} == {1000}


@pytest.mark.parametrize("length", [600, 601, 777, 3000])
def test_other_lengths_are_exact_too(renderer: Renderer, length: int) -> None:
    suite = build(renderer, prompt_tokens=length, limit=6)
    assert {len(renderer.prompt_ids([{"role": "user", "content": p.turns[0]}])) for p in suite.prompts} == {length}
    assert Counter(p.sub_category for p in suite.prompts) == {"low": 2, "mixed": 2, "high": 2}


@pytest.mark.parametrize(
    ("name", "tokens", "limit"),
    [
        ("throughput-1k", 1_000, None),
        ("throughput-2k", 2_000, None),
        ("throughput-8k", 8_000, 3),
        ("throughput-16k", 16_000, 3),
        ("throughput-32k", 32_000, 3),
    ],
)
def test_throughput_suites_are_exact_in_every_entropy(
    renderer: Renderer, name: str, tokens: int, limit: int | None
) -> None:
    suite = build(renderer, name=name, limit=limit)
    counts = [len(renderer.prompt_ids([{"role": "user", "content": prompt.turns[0]}])) for prompt in suite.prompts]
    assert counts == [tokens] * (limit or 24)
    assert Counter(p.sub_category for p in suite.prompts) == dict.fromkeys(("low", "mixed", "high"), len(counts) // 3)
    assert suite.name == name


def test_there_are_eight_prompts_of_each_entropy(whole: Suite) -> None:
    assert Counter((p.category, p.sub_category) for p in whole.prompts) == {
        ("long-sequence", "low"): 8,
        ("long-sequence", "mixed"): 8,
        ("long-sequence", "high"): 8,
    }
    assert len({p.question_id for p in whole.prompts}) == 24
    assert len({p.turns for p in whole.prompts}) == 24


def test_the_same_plan_builds_the_same_bytes(whole: Suite, renderer: Renderer) -> None:
    assert build(renderer).hash == whole.hash


def test_a_subset_holds_prompts_of_the_whole_suite(whole: Suite, renderer: Renderer) -> None:
    suite = build(renderer, limit=8, subset_seed=3)
    assert [p for p in whole.prompts if p in suite.prompts] == list(suite.prompts)
    assert "8 of 24 prompts" in suite.selection


def test_entropy_keeps_its_levels_only(renderer: Renderer) -> None:
    assert {p.sub_category for p in build(renderer, entropy=["high"]).prompts} == {"high"}


def repeated_share(text: str) -> float:
    """Share of a text's word 4-grams that stood in it before."""
    words = text.split()
    grams = [tuple(words[n : n + 4]) for n in range(len(words) - 3)]
    return 1 - len(set(grams)) / len(grams)


def test_low_entropy_repeats_itself_and_high_does_not(whole: Suite) -> None:
    shares = {p.question_id: (p.sub_category, repeated_share(p.turns[0])) for p in whole.prompts}
    low = [share for level, share in shares.values() if level == "low"]
    mixed = [share for level, share in shares.values() if level == "mixed"]
    high = [share for level, share in shares.values() if level == "high"]
    assert max(high) < 0.02
    assert sum(low) / 8 > sum(mixed) / 8 > max(high)


def test_without_a_tokenizer_the_error_says_what_is_missing() -> None:
    with pytest.raises(SuiteError, match="the target's tokenizer is not at hand"):
        build(None)


def test_a_length_that_cannot_be_reached_names_the_prompt(renderer: Renderer) -> None:
    with pytest.raises(SuiteError, match="prompt long-low-log-copy: it has at least"):
        build(renderer, prompt_tokens=20, entropy=["low"])
    with pytest.raises(SuiteError, match=r"prompt long-high-continue: its material ends at"):
        build(renderer, prompt_tokens=200_000, entropy=["high"])


def test_no_material_holds_a_control_token_or_loose_white_space() -> None:
    assert all(text.strip() == text for recipe in recipes() for text in (recipe.opening, recipe.question))
    for generator in GENERATORS:
        blocks = list(islice(generator(Draws("any")), 200))
        assert all(block.endswith("\n") for block in blocks)
        assert not re.search(r"<\|?[a-z/]", "".join(blocks))


# Frozen texts


def digest(generator: Callable[[Draws], Iterator[str]]) -> str:
    text = "".join(islice(generator(Draws("frozen")), 300))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def test_generated_text_is_frozen() -> None:
    """A change here changes what every long-sequence suite holds; results from before are of another suite."""
    assert {generator.__name__: digest(generator) for generator in GENERATORS} == {
        "service_log": "e1daec9ae573982b",
        "station_table": "877d502c968af8bc",
        "price_list": "4a4da537c6e6084f",
        "insert_statements": "ec727eb4b4e9faac",
        "json_records": "0dd42641be226a93",
        "release_notes": "2412a98a57d0fedd",
        "minutes": "f4925039d359b7e9",
        "settings": "f63816f152835536",
        "accessors": "7e5b8dca265b7741",
        "functions": "bd588483e285bd68",
    }


def test_recipes_are_frozen() -> None:
    words = [(r.name, r.entropy, r.opening, r.question, r.heading, r.prose) for r in recipes()]
    assert hashlib.sha256(repr(words).encode()).hexdigest()[:16] == "5924b7d44d96319c"


def test_draws_are_frozen_and_even() -> None:
    draws = Draws("frozen")
    assert [draws.below(1000) for _ in range(6)] == [858, 698, 187, 146, 551, 41]
    assert sorted(Draws("any").shuffled(range(50))) == list(range(50))
    draws = Draws("even")
    counts = Counter(draws.between(1, 6) for _ in range(6000))
    assert set(counts) == {1, 2, 3, 4, 5, 6}
    assert all(850 < count < 1150 for count in counts.values())


# Prose


def test_prose_is_split_at_headings_paragraphs_and_sentences() -> None:
    text = '# One\n\nFirst. Second, of 3.5\nmetres? "Third!" Fourth.\n\nFifth.\n\n## Two\r\n\r\nSixth.'
    assert split_sections(text) == (
        (("First.", "Second, of 3.5 metres?", '"Third!"', "Fourth."), ("Fifth.",)),
        (("Sixth.",),),
    )


def test_prose_starts_at_a_section_and_goes_round_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "sections", lambda: ((("A.", "B."),), (("C.",), ("D.",))))
    monkeypatch.setattr(corpus, "documents", lambda: ((("1.",),), (("2.", "3."),)))
    assert prose_from(0.0) == ["\n\nA.", " B.", "\n\nC.", "\n\nD.", "\n\n1.", "\n\n2.", " 3."]
    assert prose_from(0.5) == ["\n\nC.", "\n\nD.", "\n\nA.", " B.", "\n\n2.", " 3.", "\n\n1."]


def test_the_documents_are_those_in_prose_of_the_summarization_suite_without_what_is_asked_of_them() -> None:
    found = corpus.documents()
    assert len(found) == 33
    assert found[0][0] == ("Ferry to Holm Island Stops for the Winter, Two Months Early",)
    sentences = [sentence for section in found for block in section for sentence in block]
    assert not any("document>" in sentence for sentence in sentences)
    assert not any(re.search(r"Exception|^\d+:\d\d ", sentence) for sentence in sentences)
    words = sum(len(sentence.split()) for sentence in sentences)
    assert words > 15_000
