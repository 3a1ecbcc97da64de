"""No two built-in prompts are one task in two wordings; paraphrases planted among them show that it would be seen.

English prompts are compared by wordllama's embeddings. Prompts with code in one language are alike by the code, and
edits of code by what they ask: two coding prompts are therefore compared by the embeddings of what stands outside code
blocks, and by the runs of characters that they share, code and all. The embedding's tokens were made for English; in
other scripts any two prompts are alike by them (0.96 for two in Arabic that have nothing in common). So pairs with a
prompt of `multilingual` are compared by their characters alone. Two wordings share fewer runs of them in Chinese and
Japanese than elsewhere, and two tasks next to none.
"""

from __future__ import annotations

import importlib.util
import json
import re
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from draftmark.suites.builtin import BuiltinSpec
from draftmark.suites.builtin.spec import SHIPPED

if TYPE_CHECKING:
    from types import ModuleType

    from draftmark.suites.prompt import Prompt

HERE = Path(__file__)
CODE = re.compile(r"```.*?```", re.DOTALL)
UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff]")

LIMITS = {"english": 0.64, "coding": 0.44, "spaced": 0.37, "unspaced": 0.12}
"""Where two prompts count as one task. Each lies between the closest pair of built-in prompts and the planted
paraphrase that is least like its original: 0.61 and 0.67, 0.40 and 0.48, 0.32 and 0.42, 0.07 and 0.17."""


def load_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "prompt_diversity", HERE.parents[2] / "scripts" / "prompt_diversity.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SCRIPT = load_script()
BUILTIN = {
    prompt.question_id: prompt
    for name in SHIPPED
    for prompt in BuiltinSpec.model_validate({"name": name}).load(None).prompts
}


def planted() -> dict[str, Prompt]:
    """The paraphrases, each under the id of the prompt that it says in other words."""
    lines = (HERE.parent / "paraphrases.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return {
        row["of"]: BUILTIN[row["of"]].model_copy(
            update={"question_id": f"planted {row['of']}", "turns": tuple(row["turns"]), "system": row.get("system")}
        )
        for row in rows
    }


PLANTED = planted()


def measure_of(one: Prompt, other: Prompt) -> str:
    """Name the measure and limit that a pair is held to."""
    if "multilingual" in (one.category, other.category):
        texts = [SCRIPT.conversation(prompt) for prompt in (one, other)]
        unspaced = all(len(UNSPACED.findall(text)) > 0.2 * len(text) for text in texts)
        return "unspaced" if unspaced else "spaced"
    return "coding" if one.category == other.category == "coding" else "english"


def compare(prompts: list[Prompt]) -> dict[tuple[str, str], tuple[str, float]]:
    """Return each pair's measure and its similarity by it, -1 to 1, earlier prompts first in a pair."""
    texts = [SCRIPT.conversation(prompt) for prompt in prompts]
    meanings = SCRIPT.embed([CODE.sub("", text) for text in texts])
    characters = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), sublinear_tf=True).fit_transform(texts)
    by_meaning, by_characters = meanings @ meanings.T, (characters @ characters.T).toarray()
    tables = {
        "english": by_meaning,
        "coding": (by_meaning + by_characters) / 2,
        "spaced": by_characters,
        "unspaced": by_characters,
    }
    found = {}
    for (i, one), (j, other) in combinations(enumerate(prompts), 2):
        measure = measure_of(one, other)
        found[one.question_id, other.question_id] = (measure, float(tables[measure][i, j]))
    return found


@pytest.fixture(scope="module")
def likeness() -> dict[tuple[str, str], float]:
    """How far each pair of built-in and planted prompts is on its way to its limit; above 1 it counts as one task."""
    pairs = compare([*BUILTIN.values(), *PLANTED.values()])
    return {names: similarity / LIMITS[measure] for names, (measure, similarity) in pairs.items()}


def test_no_two_built_in_prompts_are_one_task_in_other_words(likeness: dict[tuple[str, str], float]) -> None:
    """Where this fails, give one of the two a task of its own; rewording it until it passes is no remedy."""
    assert {names: share for names, share in likeness.items() if share > 1 and set(names) <= set(BUILTIN)} == {}


@pytest.mark.parametrize("name", PLANTED)
def test_a_prompt_in_other_words_is_seen(name: str, likeness: dict[tuple[str, str], float]) -> None:
    assert likeness[name, f"planted {name}"] > 1


@pytest.mark.parametrize("name", PLANTED)
def test_a_prompt_in_other_words_is_most_like_its_original(name: str, likeness: dict[tuple[str, str], float]) -> None:
    assert max(BUILTIN, key=lambda other: likeness[other, f"planted {name}"]) == name


def test_paraphrases_are_planted_in_every_category_and_for_every_limit() -> None:
    assert {BUILTIN[name].category for name in PLANTED} == set(SHIPPED)
    counts = Counter(measure_of(BUILTIN[name], prompt) for name, prompt in PLANTED.items())
    assert set(counts) == set(LIMITS)
    assert min(counts.values()) >= 3


def test_the_figure_is_the_mean_over_pairs_and_names_the_closest() -> None:
    vectors = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])

    found = SCRIPT.spread(["east", "north", "between"], vectors)

    assert found.prompts == 3
    assert found.mean == pytest.approx((0.0 + 0.6 + 0.8) / 3)
    assert found.most == pytest.approx(0.8)
    assert found.closest == ("north", "between")


def test_a_conversation_is_the_system_message_and_all_turns() -> None:
    prompt = BUILTIN["roleplay-profession-001"].model_copy(update={"system": "Be Marit.", "turns": ("Hi.", "Bye.")})

    assert SCRIPT.conversation(prompt) == "Be Marit.\n\nHi.\n\nBye."


def test_embeddings_come_from_the_package_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The weights and the tokenizer lie in the package, so that loading them needs neither a cache nor a network."""
    import socket

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setenv("HOME", "/nonexistent")
    SCRIPT._model.cache_clear()

    vectors = SCRIPT.embed(
        ["How do I bake bread?", "What is the way to make a loaf of bread?", "Quarterly tax of a firm"]
    )

    assert vectors.shape == (3, 256)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1.0] * 3)
    assert vectors[0] @ vectors[1] > 0.5
    assert vectors[0] @ vectors[2] < 0.3
