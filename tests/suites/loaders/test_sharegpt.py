"""Conversations in ShareGPT's form: the user's turns are kept, and what has none is counted."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from draftmark.suites.loaders.sharegpt import SharegptSpec
from draftmark.suites.prompt import SuiteError
from draftmark.suites.training_data import caution_for

if TYPE_CHECKING:
    from pathlib import Path


def talk(*said: tuple[str, str]) -> list[dict[str, str]]:
    return [{"from": who, "value": text} for who, text in said]


def written(path: Path, *conversations: Any) -> str:
    rows = [{"id": f"c{n}", "conversations": said} for n, said in enumerate(conversations)]
    path.write_text(json.dumps(rows))
    return str(path)


TWO = talk(("system", "s"), ("human", "one"), ("gpt", "answer"), ("human", "two"), ("gpt", "answer"))


def test_the_users_turns_are_kept_and_the_answers_are_not(tmp_path: Path) -> None:
    suite = SharegptSpec(path=written(tmp_path / "s.json", TWO)).load(None)
    (prompt,) = suite.prompts
    assert (prompt.question_id, prompt.src_id) == ("c0-1", "c0")
    assert (prompt.system, prompt.turns, prompt.messages) == ("s", ("one", "two"), None)


def test_messages_of_the_user_without_an_answer_between_are_one_turn(tmp_path: Path) -> None:
    said = talk(("human", "one"), ("human", "more"), ("gpt", "answer"))
    (prompt,) = SharegptSpec(path=written(tmp_path / "s.json", said)).load(None).prompts
    assert prompt.turns == ("one\n\nmore",)


def test_turns_can_be_limited(tmp_path: Path) -> None:
    suite = SharegptSpec(path=written(tmp_path / "s.json", TWO), most_turns=1).load(None)
    assert suite.prompts[0].turns == ("one",)
    assert suite.selection == "all 1 prompts; at most 1 turns of each"


def test_conversations_that_begin_with_an_answer_or_are_empty_are_left_out_and_counted(tmp_path: Path) -> None:
    path = written(tmp_path / "s.json", TWO, talk(("gpt", "answer"), ("human", "two")), [], talk(("human", "")))
    suite = SharegptSpec(path=path).load(None)
    assert len(suite.prompts) == 1
    assert "1 rows left out: they begin with an answer" in suite.selection
    assert "2 rows left out: they are empty" in suite.selection


def test_who_is_not_known_is_named(tmp_path: Path) -> None:
    path = written(tmp_path / "s.json", TWO, talk(("parrot", "one")))
    with pytest.raises(SuiteError, match=r"element 2: conversations\[0\] is by 'parrot'"):
        SharegptSpec(path=path).load(None)


def test_an_element_that_is_not_strict_json_is_named(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text('[{"id": ' + "7" * 5000 + ', "conversations": []}, {"id": 1, "id": 2}]')
    with pytest.raises(SuiteError) as caught:
        SharegptSpec(path=str(path)).load(None)
    assert f"{path}, element 1: holds a whole number of 5,000 digits" in str(caught.value)
    assert f"{path}, element 2: has the key 'id' twice" in str(caught.value)


def test_the_caution_speaks_of_learned_heads_and_leaves_the_hash_alone(tmp_path: Path) -> None:
    suite = SharegptSpec(path=written(tmp_path / "s.json", TWO)).load(None)
    assert suite.caution is not None
    assert "eagle3" in suite.caution.drafters
    assert "ngram" not in suite.caution.drafters
    assert suite.model_copy(update={"caution": None}).hash == suite.hash


@pytest.mark.parametrize(
    ("name", "of"),
    [("Aeala/ShareGPT_Vicuna_unfiltered", "ShareGPT"), ("HuggingFaceH4/ultrachat_200k", "UltraChat-200K"),
     ("open-thoughts/OpenThoughts-114k-math", "OpenThoughts-114k-math")],
)  # fmt: skip
def test_copies_of_sets_that_heads_were_trained_on_are_known_by_name(name: str, of: str) -> None:
    caution = caution_for(name)
    assert caution is not None
    assert of in caution.text
    assert caution_for("openai/gsm8k") is None
