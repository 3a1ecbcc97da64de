"""What each source's texts become, with made rows and made instructions in the form that the preparer's file has."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from draftmark.suites.loaders.speed_bench.long_texts import halves, to_length
from draftmark.suites.loaders.speed_bench.sources import SOURCES, source_of
from draftmark.suites.loaders.speed_bench.splits import SPLITS
from draftmark.suites.loaders.speed_bench.texts import Work, fill
from draftmark.suites.loaders.speed_bench.wording import Wording
from draftmark.suites.prompt import SuiteError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

STAND_IN = "FULL BENCHMARK DATA SHOULD BE FETCHED FROM THE SOURCE USING SPECDEC_BENCH"

PREPARER = '''
class Bench:
    @staticmethod
    def _generate_stackselect_prompt(question, answers, answer, num_tokens):
        """Not a text of the prompt."""
        prompt = """Pick one. """
        prompt += "Asked: "
        prompt += question + "\\n\\n"
        prompt += "Answers: "
        end_prompt = "Now say "
        end_prompt += "which."
        for i, answer in enumerate(answers):
            prompt += f"A{i + 1}:\\n\\n{answer}\\n\\n"
        prompt += end_prompt
        return prompt

    def _generate_textsort_prompt(prompt):
        original_instruction = "Old orders: "
        new_instruction = """New orders: """
        return prompt.replace(original_instruction, new_instruction, 1)

    def _generate_writing_prompt(contents):
        content = "\\n".join(contents)
        prompt = f"""Go on with {{this}}: {content} END"""
        return prompt

    def _pad_or_truncate_prompt(prompt, target_num_tokens, padding: str = "pad pad "):
        return prompt

    def _generate_chatrag_bench_prompt(external):
        prompt = "Read {context}. Then: {question}"
        return prompt

    def _generate_coser_prompt(external):
        prompt = """{character} of {book_name}. {character_profile} {scenario} """
        prompt += """{other_character_profiles_str} {motivation}"""
        return prompt

    def _generate_mmlu_pro_prompt(external, subject):
        prompt = 'On {subject}, choose.\\n\\n'
        return prompt

    def _generate_hle_prompt(example, train, num_tokens, rng):
        prompt = "Examples of " + example["category"] + ": "
        return prompt
'''


class Words:
    """A tokenizer that a hand can count with: a token is a word with the space behind it, numbered as first seen."""

    def __init__(self) -> None:
        self.known: list[str] = []

    def encode(self, text: str, *, disallowed_special: Any) -> list[int]:
        import re

        tokens = []
        for word in re.findall(r"\S*\s|\S+", text):
            if word not in self.known:
                self.known.append(word)
            tokens.append(self.known.index(word))
        return tokens

    def decode(self, tokens: Sequence[int]) -> str:
        return "".join(self.known[token] for token in tokens)


class Shelf:
    """A supply of made data: hub datasets by (name, config), files by address."""

    def __init__(self, path: Path) -> None:
        self.hub: dict[tuple[str, str | None], list[dict[str, Any]]] = {}
        self.files: dict[str, list[dict[str, Any]]] = {}
        self.path = path / "speed.py"
        self.path.write_text(PREPARER, "utf-8")
        self.words = Words()

    def hub_rows(
        self, dataset: str, config: str | None, revision: str | None, columns: Sequence[str]
    ) -> Sequence[Mapping[str, Any]]:
        return [{column: row[column] for column in columns} for row in self.hub[dataset, config]]

    def json_rows(self, address: str) -> Iterable[Mapping[str, Any]]:
        return self.files[address]

    def json_table(self, address: str) -> Sequence[Mapping[str, Any]]:
        return self.files[address]

    def wording(self) -> Wording:
        return Wording(self.path)

    def encoder(self) -> Words:
        return self.words


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


def row(source: str, src_id: str, *turns: str, **fields: Any) -> dict[str, Any]:
    return {"question_id": src_id, "source": source, "src_id": src_id, "turns": list(turns or (STAND_IN,)), **fields}


def turns_of(shelf: Shelf, *rows: dict[str, Any], split: str = "qualitative", tokens: int | None = None) -> list[Any]:
    """Resolve rows of one source; `tokens` is the length of a made throughput split."""
    from dataclasses import replace

    published = SPLITS[split]
    if tokens is not None:
        published = replace(SPLITS["throughput-1k"], prompt_tokens=tokens)
    source = source_of(rows[0]["source"])
    assert source is not None
    builder = source.builder(published)
    assert builder is not None
    make = builder(Work(rows, published, shelf))
    return [make(row) for row in rows]


def test_an_article_is_put_into_the_rows_own_instruction(shelf: Shelf) -> None:
    shelf.hub["abisee/cnn_dailymail", "3.0.0"] = [
        {"id": "x", "article": "wrong", "highlights": ""}, {"id": "a1", "article": "Rain {fell}.", "highlights": ""},
    ]  # fmt: skip
    asked = row("abisee/cnn_dailymail", "a1", f"{STAND_IN}\n\nShorten:\n\n{{article}} {{{{now}}}}")
    assert turns_of(shelf, asked) == [["Shorten:\n\nRain {fell}. {now}"]]


def test_an_exam_question_is_asked_as_it_is(shelf: Shelf) -> None:
    shelf.hub["cais/hle", None] = [{"id": "b", "question": "Why?"}, {"id": "c", "question": "Where?"}]
    assert turns_of(shelf, row("cais/hle", "c")) == [["Where?"]]


def test_a_task_and_its_starter_code_are_found_in_any_of_the_files(shelf: Shelf) -> None:
    base = (
        "https://huggingface.co/datasets/livecodebench/code_generation_lite/resolve/"
        "0fe84c3912ea0c4d4a78037083943e8f0c4dd505/"
    )
    shelf.files = {f"{base}test{n}.jsonl": [] for n in ("", "2", "3", "4", "5", "6")}
    shelf.files[f"{base}test4.jsonl"] = [{"question_id": "t", "question_content": "Add.", "starter_code": "def f"}]
    asked = row("livecodebench/code_generation_lite", "t", f"{STAND_IN}\n\n{{question}} Start: {{starter_code}}")
    assert turns_of(shelf, asked) == [["Add. Start: def f"]]


def test_a_contest_is_found_by_its_name(shelf: Shelf) -> None:
    shelf.hub["deepmind/code_contests", None] = [{"name": "p_A", "description": "Count."}]
    assert turns_of(shelf, row("deepmind/code_contests", "p_A", f"{STAND_IN}\n\nDo: {{question}}")) == [["Do: Count."]]


def test_a_dialogue_gives_the_users_side(shelf: Shelf) -> None:
    address = "https://raw.githubusercontent.com/mtbench101/mt-bench-101/abc/data/made.jsonl"
    shelf.files[address] = [{"history": []}, {"history": [{"user": "One", "bot": "x"}, {"user": "Two", "bot": "y"}]}]
    assert turns_of(shelf, row(address, "CM_1", STAND_IN, STAND_IN)) == [["One", "Two"]]


def test_a_pair_of_sentences_is_written_as_python_writes_it(shelf: Shelf) -> None:
    shelf.hub["Helsinki-NLP/opus-100", "de-en"] = [{"translation": {}}, {"translation": {"de": "Ja", "en": "Yes"}}]
    asked = row("Helsinki-NLP/opus-100", "opus100_de-en_1", f"{STAND_IN}\n\nTranslate {{question}}")
    assert turns_of(shelf, asked) == [["Translate {'de': 'Ja', 'en': 'Yes'}"]]


def test_a_role_has_its_description_once_and_its_name_taken_off_later_questions(shelf: Shelf) -> None:
    page = "https://huggingface.co/datasets/ZenMoore/RoleBench/tree/abc/rolebench-eng"
    address = "https://huggingface.co/datasets/ZenMoore/RoleBench/raw/abc/rolebench-eng/en/role_specific/test.jsonl"
    shelf.files[address] = [
        {"role": "Ann", "question": "Ann, who?"}, {"role": "Ann", "question": "no"},
        {"role": "Ann", "question": "Ann, why?"},
    ]  # fmt: skip
    roles = (
        "https://huggingface.co/datasets/ZenMoore/RoleBench/raw/a57ed54f9613921e4a5f1b63601a558cd5acf971/"
        "profiles-eng/desc.json"
    )
    shelf.files[roles] = [{"Ann": "brave"}]
    asked = row(
        page, "role_en_0_2_1", f"{STAND_IN}\n\nBe {{role_name}}: {{role_description_and_catchphrases}}", STAND_IN
    )
    assert turns_of(shelf, asked | {"src_id": "role_en_0_2_1"}) == [["Be Ann: brave\nAnn, who?", "why?"]]


def test_documents_stand_before_the_first_question_alone(shelf: Shelf) -> None:
    said = [
        {"role": "user", "content": "One?"}, {"role": "assistant", "content": "1"}, {"role": "user", "content": "Two?"},
    ]  # fmt: skip
    shelf.hub["nvidia/ChatRAG-Bench", "hybridial"] = [{"ctxs": [], "messages": []}]
    shelf.hub["nvidia/ChatRAG-Bench", "sqa"] = [{"ctxs": [{"text": "d1"}, {"text": "d2"}], "messages": said}]
    assert turns_of(shelf, row("nvidia/ChatRAG-Bench", "rag_1")) == [["Read d1\n\nd2. Then: One?", "Two?"]]


def test_choices_are_lettered_and_follow_each_other(shelf: Shelf) -> None:
    shelf.hub["TIGER-Lab/MMLU-Pro", None] = [
        {"question": "no", "options": []}, {"question": "Q1", "options": ["x", "y"]},
        {"question": "Q2", "options": ["z"]},
    ]  # fmt: skip
    asked = row("TIGER-Lab/MMLU-Pro", "range(1, 3)", STAND_IN, STAND_IN, sub_category="law")
    assert turns_of(shelf, asked) == [
        ["On law, choose.\n\nQuestion: Q1\n\nOptions: (A) x\n(B) y\n\n", "Question: Q2\n\nOptions: (A) z\n\n"]
    ]


def test_a_character_is_drawn_and_the_others_are_told(shelf: Shelf) -> None:
    page = "https://huggingface.co/datasets/Neph0s/CoSER/tree/abc"
    scene = {
        "major_characters": ["Eve"], "character_profiles": {"Tom": "old", "Eve": "young", "Nobody": None},
        "scenario": "At sea.", "book": "Ships", "key_characters": [{"name": "Eve", "motivation": "To land."}],
    }  # fmt: skip
    shelf.files["https://huggingface.co/datasets/Neph0s/CoSER/raw/abc/test/test_set.json"] = [scene]
    assert turns_of(shelf, row(page, "coser_0")) == [["Eve of Ships. young At sea. Tom: old To land."]]


# To a length


def test_long_dialogues_are_joined_and_brought_to_length(shelf: Shelf) -> None:
    address = "https://huggingface.co/datasets/RUCAIBox/BAMBOO/resolve/abc/x.jsonl"
    shelf.files[address] = [{"content": "no"}, {"content": "alpha"}, {"content": "beta"}]
    whole = "Go on with {this}: START CONTENT 1\n\nalpha\n\nEND CONTENT\n\nSTART CONTENT 2\n\nbeta\n\nEND CONTENT END"
    words = len(Words().encode(whole, disallowed_special=()))
    (text,), (cut,) = (
        turns_of(shelf, row(address, "b_1_2"), tokens=words)[0],
        turns_of(shelf, row(address, "b_1_2"), tokens=3)[0],
    )
    assert text == whole
    assert cut == "Go on with "


def test_a_text_is_padded_and_then_cut() -> None:
    words = Words()
    assert to_length("a b ", 2, "pad pad ", words) == "a b "
    assert to_length("a b c ", 2, "pad pad ", words) == "a b "
    assert to_length("a b ", 5, "pad pad ", words) == "a b pad pad pad "


def test_the_sources_instruction_is_exchanged_once(shelf: Shelf) -> None:
    address = "https://huggingface.co/datasets/AdaLEval/textsort/resolve/abc/x.jsonl"
    shelf.files[address] = [{"prompt": "no"}, {"prompt": "Old orders: Old orders: two"}]
    assert turns_of(shelf, row(address, "t_1"), tokens=5) == [["New orders: Old orders: two"]]


def test_answers_are_taken_up_to_the_first_that_does_not_fit_and_shuffled(shelf: Shelf) -> None:
    """10 words before, 3 behind, 2 for the best answer: of 19 tokens 4 are left, so the long third one ends it."""
    address = "https://huggingface.co/datasets/AdaLEval/stackselect/resolve/abc/x.json"
    answers = ["one ", "two ", "a b c d e f g ", "four ", "best "]
    shelf.files[address] = [{"question_id": "s", "question": "Which of them?", "all_answers": answers, "answer": "A5"}]
    kept = ["best ", "one ", "two "]
    random.Random(42).shuffle(kept)
    shown = "".join(f"A{n}:\n\n{answer}\n\n" for n, answer in enumerate(kept, 1))
    whole = f"Pick one. Asked: Which of them?\n\nAnswers: {shown}Now say which."
    words = len(Words().encode(whole, disallowed_special=()))
    assert turns_of(shelf, row(address, "s"), tokens=words) == [[whole]]


def test_examples_are_drawn_by_one_generator_for_all_rows_in_their_order(shelf: Shelf) -> None:
    """Rows of `train` are examples; `test` is asked. With one example a category the draws are known."""
    train, test = halves(6)
    entries = [
        {"id": str(n), "category": "law", "question": f"q{n} ", "rationale": f"r{n}", "image": ""} for n in range(6)
    ]
    for index in train[1:]:
        entries[index]["image"] = "picture"
    shelf.hub["cais/hle", None] = entries
    asked = row("cais/hle", str(test[0]))
    (text,) = turns_of(shelf, asked, tokens=10)[0]
    example = f"Question: q{train[0]} \n\nAnswer: r{train[0]}\n\n"
    tokens = Words().encode("Examples of law: " + example * 9, disallowed_special=())
    assert Words().encode(text, disallowed_special=())
    assert text.startswith(f"Examples of law: {example}")
    assert text.endswith(f"q{test[0]} ")
    assert len(tokens) > 10
    assert len(shelf.words.encode(text, disallowed_special=())) == 11  # as published, one more than the length


def test_a_question_that_is_missing_stops_the_draws_behind_it(shelf: Shelf) -> None:
    _, test = halves(6)
    shelf.hub["cais/hle", None] = [
        {"id": str(n), "category": "law", "question": f"q{n} ", "rationale": "r", "image": ""} for n in range(6)
    ]
    source = source_of("cais/hle")
    assert source is not None
    builder = source.builder(SPLITS["throughput-1k"])
    assert builder is not None
    rows = [row("cais/hle", "gone"), row("cais/hle", str(test[0]))]
    make = builder(Work(rows, SPLITS["throughput-1k"], shelf))
    with pytest.raises(KeyError):
        make(rows[0])
    with pytest.raises(ValueError, match="draws before it are unknown"):
        make(rows[1])


def test_the_halves_are_those_of_the_library() -> None:
    datasets = pytest.importorskip("datasets")
    for size in (6, 7):
        split = datasets.Dataset.from_dict({"n": list(range(size))}).train_test_split(0.5, shuffle=True, seed=42)
        assert halves(size) == (list(split["train"]["n"]), list(split["test"]["n"]))


def test_a_draw_is_that_of_a_data_frame() -> None:
    """The preparer samples rows of a data frame with the generator; the texts here come from a list."""
    import pandas as pd

    frame, ours, theirs = pd.DataFrame({"n": range(37)}), np.random.default_rng(42), np.random.default_rng(42)
    drawn = [int(frame.sample(1, random_state=theirs)["n"].iloc[0]) for _ in range(5)]
    assert [int(ours.choice(37, size=1, replace=False)[0]) for _ in range(5)] == drawn


# What is read as data


def test_an_instruction_reaches_no_attribute_of_a_value() -> None:
    assert fill("{a}{{b}}", a="{a}") == "{a}{b}"
    for text in ("{a.__class__}", "{a[0]}", "{b}", "{a!r}", "{a:>9}", "{}"):
        with pytest.raises(ValueError, match="which the source does not fill"):
            fill(text, a="x")


def test_the_preparers_file_is_never_run(tmp_path: Path) -> None:
    (tmp_path / "speed.py").write_text("raise SystemExit\ndef f():\n    prompt = 'a'\n")
    wording = Wording(tmp_path / "speed.py")
    assert wording.text("f", "prompt") == "a"
    with pytest.raises(SuiteError, match="has not text 1 of prompt in g"):
        wording.text("g", "prompt")


def test_every_source_is_found_by_what_its_rows_say() -> None:
    for source in SOURCES:
        assert source_of(f"https://huggingface.co/datasets/{source.name}/tree/abc") is source
    assert source_of("https://example.org/other") is None
    assert source_of(None) is None
