"""The shipped texts are what they claim to be: frozen bytes, one schema, varied, and not copies of each other."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections import Counter
from functools import cache
from importlib.resources import files
from itertools import combinations

import pytest

from draftmark.suites.prompt import Prompt

GENERAL = ("humanities", "math", "multilingual", "qa", "rag", "reasoning", "roleplay", "stem", "writing")
SUITES = ("coding", "summarization", *GENERAL)
SHA256 = {
    "coding.jsonl": "a1fd5dc0b7b101bd424fecd67df7a1407b3e4985b6a349a1131010aca3dce856",
    "humanities.jsonl": "4aeff71a93c37bd198d7d7b71f0f239992ea917575d34356f0e47ef17f2a4fc7",
    "math.jsonl": "e440c217d67437f6b74a3a0aefe1434d2864d7110236fccec69952f636db7525",
    "multilingual.jsonl": "fbf8fbbf9c65ae431133a6296b92880e7edead6140078a74bd1e94e2a710934f",
    "qa.jsonl": "fc1f36b3dac45f0776c54eebeb2e413c888e1f293e70a01254f04b7b2f9b7cb6",
    "rag.jsonl": "7df53cefbc7c68e35cd8a620d9a7752fdfd2f972feb3d6f33522cbd18437a6a5",
    "reasoning.jsonl": "3cd8e2a322d43450d384ff29720218b83550a4a1c1c3df1edbd7427616028db2",
    "roleplay.jsonl": "d5cb8693e07506f20e9cbcdee1efff6abea03fdb40a1b15e9c0a1dbd8139b3b7",
    "stem.jsonl": "732ac8f0580fc94fe5531269afd98a0515ba75fe6dca8810fa6414d4ac0f8790",
    "summarization.jsonl": "ebbb6dabe00b78ed61c46ed1c34fe4c1fa50ba7a70637bbe20c8f72ee5e26ca3",
    "writing.jsonl": "b8792d0bc9bf5079dfffc0da1a76de1cb6ec9193fba4e007ccf08df2790d0f3a",
    "corpus.md": "ada4ef9df059cad9fcaf498673494cbf5ec03216eee5f6f6495f922b5a2b3473",
}
KEYS = {"question_id", "category", "sub_category", "turns", "source", "difficulty"}
MOST_SHARED = 0.30
UNSPACED = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff"
"""Thai, kana and Chinese characters, each counted as a word: their scripts put no spaces between words."""

PAIRS = {"chat", "ticket"}
"""Registers of summarization with two documents; the others have three or more."""

SCRIPTS = {
    "arabic": ("ARABIC",),
    "chinese": ("CJK",),
    "greek": ("GREEK",),
    "hindi": ("DEVANAGARI",),
    "japanese": ("CJK", "HIRAGANA", "KATAKANA"),
    "korean": ("HANGUL",),
    "russian": ("CYRILLIC",),
    "thai": ("THAI",),
    "ukrainian": ("CYRILLIC",),
}
"""How the Unicode names of a language's letters begin."""

FUNCTION_WORDS = {
    "english": "the of and to in a is that it for you with on are this be as at",
    "dutch": "de het een en van in je dat niet op met over waarom wanneer te toch",
    "french": "le la les des et de du une un en à pour dans que qui ce avec sur",
    "german": "der die das und ich zu ein eine den mit für von bei zwischen dem bitte",
    "indonesian": "yang dan untuk pada dengan satu kira menit warga buatlah",
    "italian": "il la di che e per un una in quelle sono ho con gli come mi",
    "polish": "i w na się jako pod czas od do oraz odpowiedz weź",
    "portuguese": "o a de que e do da uma um com para não são mais e",
    "spanish": "el la de que y en los una un por con las se del es cuando",
    "swahili": "ya na kwa wa za yako jinsi moja kisha mambo",
    "swedish": "och att det på som en av är ett alla skriv min där",
    "turkish": "ve bir bana bu da ne ile iki önce ver her yaz",
    "vietnamese": "tôi và cho trong từng hãy một mà người các muốn",
}


def raw(name: str) -> bytes:
    return (files("draftmark.suites.builtin") / name).read_bytes()


@cache
def prompts(suite: str) -> tuple[Prompt, ...]:
    lines = raw(f"{suite}.jsonl").decode("utf-8").removesuffix("\n").split("\n")
    return tuple(Prompt.model_validate_json(line) for line in lines)


def wording(prompt: Prompt) -> str:
    return "\n".join([prompt.system or "", *prompt.turns])


def five_grams(text: str) -> set[tuple[str, ...]]:
    words = re.findall(rf"[{UNSPACED}]|[^\W{UNSPACED}]+", text.lower())
    return set(zip(*(words[start:] for start in range(5)), strict=False))


def shared(one: set[tuple[str, ...]], other: set[tuple[str, ...]]) -> float:
    return len(one & other) / min(len(one), len(other))


def document(prompt: Prompt) -> str:
    found = re.findall(r"<document>\n(.*)\n</document>", prompt.turns[0], flags=re.DOTALL)
    assert len(found) == 1, prompt.question_id
    return str(found[0])


def code_blocks(prompt: Prompt) -> list[tuple[str, str]]:
    return re.findall(r"```(\w+)\n(.*?)```", prompt.turns[0], flags=re.DOTALL)


@pytest.mark.parametrize("name", SHA256)
def test_the_bytes_are_the_pinned_ones(name: str) -> None:
    assert hashlib.sha256(raw(name)).hexdigest() == SHA256[name], (
        f"{name} changed: results on it no longer compare with earlier ones; pin the new hash only if that is meant"
    )


@pytest.mark.parametrize("name", SHA256)
def test_text_is_plain_utf8_with_unix_line_ends(name: str) -> None:
    text = raw(name).decode("utf-8")
    assert text.endswith("\n")
    assert not text.endswith("\n\n")

    if name.endswith(".jsonl"):
        text = "\n".join(wording(prompt) for prompt in prompts(name.removesuffix(".jsonl")))
    assert {char for char in text if unicodedata.category(char).startswith("C")} <= {"\n", "\t"}
    assert "\ufffd" not in text
    assert unicodedata.is_normalized("NFC", text)


@pytest.mark.parametrize("suite", SUITES)
def test_each_line_is_one_object_with_the_six_keys_and_perhaps_a_system_message(suite: str) -> None:
    body = raw(f"{suite}.jsonl").decode("utf-8")
    assert body.endswith("}\n")

    for line in body.removesuffix("\n").split("\n"):
        pairs = json.loads(line, object_pairs_hook=list)
        row = dict(pairs)
        assert len(pairs) == len(row)
        assert set(row) - {"system"} == KEYS
        assert row["category"] == suite
        assert row["source"] == "draftmark"
        assert row["difficulty"] in {"easy", "medium", "hard"}
        assert re.fullmatch(rf"{suite}-{row['sub_category']}-[0-9]{{3}}", row["question_id"])
        assert all(text.strip() == text and text for text in (*row["turns"], row.get("system", "-")))


def test_no_question_id_occurs_twice() -> None:
    counts = Counter(prompt.question_id for suite in SUITES for prompt in prompts(suite))

    assert [name for name, count in counts.items() if count > 1] == []


def test_coding_covers_its_kinds_of_task() -> None:
    kinds = Counter(prompt.sub_category for prompt in prompts("coding"))

    assert set(kinds) == {"write", "complete", "explain", "edit", "debug", "test"}
    assert kinds["write"] >= 7
    assert kinds["complete"] >= 6
    assert kinds["explain"] >= 6
    assert kinds["edit"] >= 8
    assert kinds.total() >= 28


def test_coding_is_in_many_languages() -> None:
    languages = Counter(language for prompt in prompts("coding") for language, _ in code_blocks(prompt))

    assert set(languages) == {"python", "javascript", "typescript", "go", "rust", "java", "c", "sql", "bash"}
    assert min(languages.values()) >= 2


def test_edit_prompts_are_mostly_the_code_to_be_given_back() -> None:
    for prompt in prompts("coding"):
        if prompt.sub_category != "edit":
            continue
        ((_, code),) = code_blocks(prompt)
        assert 20 <= len(code.splitlines()) <= 80, prompt.question_id
        assert len(code) > 0.7 * len(prompt.turns[0]), prompt.question_id


def test_complete_and_explain_prompts_give_code() -> None:
    for prompt in prompts("coding"):
        if prompt.sub_category in {"complete", "explain"}:
            assert len(code_blocks(prompt)) == 1, prompt.question_id


@pytest.mark.parametrize(
    ("suite", "least"),
    [("coding", 5), ("summarization", 3), ("math", 5), ("multilingual", 8), ("qa", 3), ("rag", 4)],
)
def test_some_prompts_have_several_turns_and_none_more_than_five(suite: str, least: int) -> None:
    lengths = Counter(len(prompt.turns) for prompt in prompts(suite))

    assert set(lengths) <= {1, 2, 3, 4, 5}
    assert lengths.total() - lengths[1] >= least


@pytest.mark.parametrize("suite", ["humanities", "reasoning", "roleplay", "stem", "writing"])
def test_a_third_or_more_of_the_conversations_have_several_turns(suite: str) -> None:
    lengths = Counter(len(prompt.turns) for prompt in prompts(suite))

    assert {1, 2, 3} <= set(lengths) <= {1, 2, 3, 4, 5}
    assert lengths.total() - lengths[1] >= lengths.total() / 3


def test_some_conversations_in_most_categories_have_four_or_five_turns() -> None:
    long = Counter(suite for suite in SUITES for prompt in prompts(suite) if len(prompt.turns) >= 4)

    assert len(long) >= 8
    assert long.total() >= 12
    assert any(len(prompt.turns) == 5 for suite in SUITES for prompt in prompts(suite))


@pytest.mark.parametrize("suite", SUITES)
def test_system_messages_are_few_outside_roleplay(suite: str) -> None:
    given = sum(prompt.system is not None for prompt in prompts(suite))

    assert given <= len(prompts(suite)) / (2 if suite == "roleplay" else 5)


def test_system_messages_stand_in_most_categories() -> None:
    assert sum(any(prompt.system for prompt in prompts(suite)) for suite in SUITES) >= 8


def test_some_users_write_without_capitals_and_some_paste_an_error() -> None:
    first = [prompt.turns[0] for suite in SUITES for prompt in prompts(suite)]

    assert sum(text[:20] == text[:20].lower() and text[0].isascii() and text[0].isalpha() for text in first) >= 10
    assert sum(bool(re.search(r"Traceback|Exception|\berror:|OOMKilled", text)) for text in first) >= 4


@pytest.mark.parametrize("suite", GENERAL)
def test_each_category_has_two_dozen_prompts_of_four_kinds_or_more(suite: str) -> None:
    assert len(prompts(suite)) >= 24
    assert len({prompt.sub_category for prompt in prompts(suite)}) >= 4


@pytest.mark.parametrize("suite", GENERAL)
def test_prompts_leave_room_for_answers_in_a_context_of_2000_tokens(suite: str) -> None:
    """A token of a byte-level tokenizer holds a byte or more, and in ordinary text several."""
    sizes = {p.question_id: len(wording(p).encode()) for p in prompts(suite)}

    assert [name for name, size in sizes.items() if size > 1500] == []


@pytest.mark.parametrize("suite", GENERAL)
def test_openings_differ(suite: str) -> None:
    openings = Counter(" ".join(prompt.turns[0].lower().split()[:3]) for prompt in prompts(suite))

    assert max(openings.values()) <= 2


def test_prompts_in_a_script_of_their_own_are_written_in_it() -> None:
    asked = [prompt for prompt in prompts("multilingual") if prompt.sub_category in SCRIPTS]

    assert {prompt.sub_category for prompt in asked} == set(SCRIPTS)
    for prompt in asked:
        letters = {char for turn in prompt.turns for char in turn if char.isalpha()}
        begins = SCRIPTS[str(prompt.sub_category)]
        assert {char for char in letters if not unicodedata.name(char).startswith(begins)} == set(), prompt.question_id
        assert len(letters) >= 15


def test_prompts_in_latin_letters_are_in_the_language_they_name() -> None:
    asked = [p for p in prompts("multilingual") if p.sub_category not in {*SCRIPTS, "translation"}]

    assert {prompt.sub_category for prompt in asked} == set(FUNCTION_WORDS) - {"english"}
    for prompt in asked:
        words = re.findall(r"\w+", " ".join(prompt.turns).lower())
        hits = {name: sum(word in known.split() for word in words) for name, known in FUNCTION_WORDS.items()}
        assert max(hits, key=lambda name: hits[name]) == prompt.sub_category, (prompt.question_id, hits)


def test_translations_are_asked_for_from_and_into_several_languages() -> None:
    assert sum(prompt.sub_category == "translation" for prompt in prompts("multilingual")) >= 4


def test_some_questions_cannot_be_answered_from_their_passages() -> None:
    kinds = Counter(prompt.sub_category for prompt in prompts("rag"))

    assert kinds["unanswerable"] >= 4
    assert kinds["multi-passage"] >= 4
    assert kinds["conflicting"] >= 4


def test_some_personas_are_given_as_a_system_message_and_others_by_the_user() -> None:
    given = Counter(prompt.system is not None for prompt in prompts("roleplay"))

    assert given[True] >= 5
    assert given[False] >= 12


@pytest.mark.parametrize("suite", SUITES)
def test_every_difficulty_is_there(suite: str) -> None:
    assert {prompt.difficulty for prompt in prompts(suite)} == {"easy", "medium", "hard"}


def test_summarization_has_three_documents_of_each_register_and_two_of_those_in_chats_and_tickets() -> None:
    registers = Counter(prompt.sub_category for prompt in prompts("summarization"))

    assert registers.total() >= 26
    assert len(registers) >= 6
    assert {register for register, count in registers.items() if count < 3} <= PAIRS <= set(registers)
    assert min(registers.values()) >= 2


def test_documents_have_200_to_1500_words_and_spread_over_that_range() -> None:
    lengths = [len(document(prompt).split()) for prompt in prompts("summarization")]

    assert min(lengths) >= 200
    assert max(lengths) <= 1500
    assert sum(length <= 350 for length in lengths) >= 6
    assert sum(350 < length < 800 for length in lengths) >= 12
    assert sum(length >= 800 for length in lengths) >= 4


def test_the_task_stands_before_some_documents_and_after_others() -> None:
    first = sum(not prompt.turns[0].startswith("<document>") for prompt in prompts("summarization"))
    last = sum(not prompt.turns[0].endswith("</document>") for prompt in prompts("summarization"))

    assert first >= 10
    assert last >= 10
    assert first + last == len(prompts("summarization"))


def test_overlap_is_the_share_of_the_smaller_set() -> None:
    one = five_grams("One, two three four five six")
    assert one == {("one", "two", "three", "four", "five"), ("two", "three", "four", "five", "six")}
    assert shared(one, one) == 1.0
    assert shared(one, five_grams("zero one two three four five")) == 0.5
    assert shared(one, five_grams("six five four three two one")) == 0.0
    assert five_grams("猫は寝る。A") == {("猫", "は", "寝", "る", "a")}


def test_no_two_prompts_share_more_than_three_tenths_of_their_five_grams() -> None:
    grams = {p.question_id: five_grams(wording(p)) for suite in SUITES for p in prompts(suite)}

    alike = [(a, b) for a, b in combinations(grams, 2) if shared(grams[a], grams[b]) > MOST_SHARED]

    assert alike == []


def test_no_prompt_repeats_the_corpus() -> None:
    corpus = five_grams(raw("corpus.md").decode("utf-8"))

    for suite in SUITES:
        for prompt in prompts(suite):
            assert shared(five_grams(wording(prompt)), corpus) < 0.02, prompt.question_id


def test_the_corpus_is_long_in_many_sections_and_does_not_repeat_itself() -> None:
    text = raw("corpus.md").decode("utf-8")
    titles = re.findall(r"^## (.+)$", text, flags=re.MULTILINE)
    sections = re.split(r"^## .+\n", text, flags=re.MULTILINE)
    words = re.findall(r"\w+", text.lower())

    assert sections[0] == ""
    assert len(set(titles)) == len(titles) >= 20
    assert min(len(section.split()) for section in sections[1:]) >= 300
    assert len(text.split()) >= 9000
    assert len(five_grams(text)) > 0.999 * (len(words) - 4)
