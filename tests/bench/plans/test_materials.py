"""What a run asks from: first prompts rendered once, conversations as messages, models named once."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import pytest

from draftmark.bench.plans.materials import draft_models, first_prompts, prompt_records
from draftmark.bench.plans.plan import load_plan
from draftmark.bench.plans.prepared import suite_warnings
from draftmark.bench.running.questions import Questions
from draftmark.suites.conversation import ids_hash, messages, text_hash
from draftmark.suites.prompt import Prompt, Suite, SuiteError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_a_conversation_puts_the_answers_between_the_turns() -> None:
    prompt = Prompt(question_id="q", turns=("one", "two", "three"), system="be brief")
    assert messages(prompt, []) == [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "one"},
    ]
    assert messages(prompt, ["first", "second"])[1:] == [
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "first"},
        {"role": "user", "content": "two"},
        {"role": "assistant", "content": "second"},
        {"role": "user", "content": "three"},
    ]


def test_hashes_are_of_plain_bytes_that_anyone_can_repeat() -> None:
    assert ids_hash([1, 20]) == hashlib.sha256(b"[1,20]").hexdigest()
    assert text_hash("ü") == hashlib.sha256(b"\xc3\xbc").hexdigest()


def test_first_prompts_are_rendered_once_per_suite_and_question(fake: Any, make_suite: Callable[..., Suite]) -> None:
    found = first_prompts([make_suite(["a", "b"], name="one"), make_suite("c", name="two")], fake.FakeRenderer())
    assert {key: fake.text(ids) for key, ids in found.items()} == {
        ("one", "q0"): "user:a\n",
        ("two", "q0"): "user:c\n",
    }


class Refusing:
    def prompt_ids(self, messages: list[dict[str, Any]], tools: object = None) -> list[int]:
        raise SuiteError("the template refuses this")

    def decode(self, ids: Any) -> str:
        return ""


def test_a_prompt_that_cannot_be_rendered_is_named(make_suite: Callable[..., Suite]) -> None:
    with pytest.raises(SuiteError, match="talk, question 'q0': the template refuses this"):
        first_prompts([make_suite("a", name="talk")], Refusing())


def test_where_no_turn_needs_ids_a_prompt_that_cannot_be_rendered_has_none(make_suite: Callable[..., Suite]) -> None:
    suite = make_suite("a", name="talk")
    assert first_prompts([suite], Refusing(), needs_ids=False) == {("talk", "q0"): None}
    asked = Questions(Refusing(), {("talk", "q0"): None}, needs_ids=False).opening(suite.prompts[0])
    assert (asked.ids, asked.messages) == (None, ({"role": "user", "content": "a"},))
    with pytest.raises(SuiteError, match="refuses this"):
        Questions(Refusing(), {}).opening(suite.prompts[0])


def test_a_prompt_that_misses_its_exact_length_is_refused(fake: Any) -> None:
    suite = Suite(name="exact", prompts=(Prompt(question_id="q", turns=("abc",), prompt_tokens=10),))
    with pytest.raises(SuiteError, match="should have 10 tokens, but has 9"):
        first_prompts([suite], fake.FakeRenderer())


def test_every_planned_turn_has_a_record(make_suite: Callable[..., Suite]) -> None:
    first, second = prompt_records([make_suite(["a", "b"])], {("small", "q0"): (1, 2, 3)})
    assert (first.turn_index, first.prompt_ids, first.category) == (0, [1, 2, 3], "talk")
    assert (second.turn_index, second.prompt_ids, second.text_hash) == (1, None, text_hash("b"))


def test_draft_models_are_named_once_and_the_target_is_none_of_them(write_plan: Callable[..., Path], fake: Any) -> None:
    drafters = [
        {"kind": "none"},
        {"kind": "draft-model", "model": "tiny", "draft_length": 2},
        {"kind": "draft-model", "model": "other", "draft_length": [2, 3]},
        {"kind": "draft-model", "model": "other", "draft_length": 4},
    ]
    assert draft_models(load_plan(write_plan(drafters=drafters), {})) == ["other"]


def test_what_a_suite_warns_of_is_a_warning_of_the_plan(make_suite: Callable[..., Suite]) -> None:
    lacks = ("the file has 2 of the 880 published rows (qa 0 of 80; math 2 of 80)", "all turns are single")
    suites = [make_suite("a", name="s").model_copy(update={"warnings": lacks}), make_suite("b")]
    assert suite_warnings(suites) == [f"s: {lacks[0]}", "s: all turns are single"]
