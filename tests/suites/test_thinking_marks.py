"""Thinking told from answer, in a target's own tokens and in text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from draftmark.suites.thinking_marks import ThinkingReader

if TYPE_CHECKING:
    from collections.abc import Callable

MARKED = "{{ messages[0].content }}<think>{{ thought }}</think>"
"""A template that knows both marks."""


MARKS = ("<think>", "</think>")
OPENING = "<|im_start|>assistant\n"


def reader(tokenizer: Any) -> ThinkingReader:
    found = ThinkingReader.of(tokenizer)
    assert found is not None
    return found


def counts(tokenizer: Any, prompt: str, output: list[str]) -> int | None:
    """Count in an output whose parts are encoded one by one, so that seams lie where the list has them."""
    ids = [one for text in output for one in tokenizer.encode(text, add_special_tokens=False)]
    return reader(tokenizer).count(tokenizer.encode(prompt, add_special_tokens=False), ids)


def length(tokenizer: Any, *texts: str) -> int:
    return sum(len(tokenizer.encode(text, add_special_tokens=False)) for text in texts)


@pytest.mark.parametrize("own_tokens", [True, False], ids=["tokens of their own", "ordinary text"])
def test_thinking_ends_with_its_mark(make_tokenizer: Callable[..., Any], *, own_tokens: bool) -> None:
    tokenizer = make_tokenizer(MARKED, marks=MARKS if own_tokens else ())
    thought = ["<think>", "\nthe level of the river\n", "</think>"]
    n = length(tokenizer, *thought)
    assert own_tokens == (n == length(tokenizer, "\nthe level of the river\n") + 2)
    assert counts(tokenizer, OPENING, [*thought, "\n\n", "the weir"]) == n
    # the prompt opened it already, as DeepSeek's does
    assert counts(tokenizer, OPENING + "<think>\n", [*thought[1:], "\n\n", "the weir"]) == length(
        tokenizer, *thought[1:]
    )


@pytest.mark.parametrize("own_tokens", [True, False], ids=["tokens of their own", "ordinary text"])
def test_thinking_that_does_not_end_is_all_of_it(make_tokenizer: Callable[..., Any], *, own_tokens: bool) -> None:
    tokenizer = make_tokenizer(MARKED, marks=MARKS if own_tokens else ())
    assert counts(tokenizer, OPENING, ["<think>", "the level"]) == length(tokenizer, "<think>", "the level")
    assert counts(tokenizer, OPENING + "<think>\n", ["the level"]) == length(tokenizer, "the level")


def test_without_thinking_there_is_none(make_tokenizer: Callable[..., Any]) -> None:
    tokenizer = make_tokenizer(MARKED, marks=MARKS)
    assert counts(tokenizer, OPENING, ["the level"]) == 0
    assert counts(tokenizer, OPENING + "<think>\n\n</think>\n\n", ["the level"]) == 0
    assert counts(tokenizer, OPENING + "<think>\n\n</think>\n\n", ["the level", "</think>", "x"]) == 0
    assert counts(tokenizer, OPENING, []) == 0


@pytest.mark.parametrize("own_tokens", [True, False], ids=["tokens of their own", "ordinary text"])
def test_an_end_that_nothing_opened_is_quoted(make_tokenizer: Callable[..., Any], *, own_tokens: bool) -> None:
    tokenizer = make_tokenizer(MARKED, marks=MARKS if own_tokens else ())
    assert counts(tokenizer, OPENING, ["the level", "</think>", "x"]) == 0
    assert counts(tokenizer, OPENING, ["In HTML ", "<think>", " is closed by ", "</think>", ". So."]) == 0
    assert counts(tokenizer, OPENING, ["</think>", "x"]) == 0


def test_an_end_is_not_known_to_be_quoted_where_the_template_knows_no_beginning(
    make_tokenizer: Callable[..., Any],
) -> None:
    alone = "{{ messages[0].content.split('</think>')[-1] }}<|im_start|>assistant\n"
    tokenizer = make_tokenizer(alone, marks=MARKS)
    assert counts(tokenizer, OPENING, ["the level", "</think>", "x"]) is None
    assert counts(tokenizer, OPENING, ["the level"]) == 0
    assert counts(tokenizer, OPENING, ["</think>", "x"]) == 0
    thought = ["<think>", "the level", "</think>"]
    assert counts(tokenizer, OPENING, [*thought, "x"]) == length(tokenizer, *thought)


@pytest.mark.parametrize("own_tokens", [True, False], ids=["tokens of their own", "ordinary text"])
def test_thinking_in_two_blocks_has_no_count(make_tokenizer: Callable[..., Any], *, own_tokens: bool) -> None:
    tokenizer = make_tokenizer(MARKED, marks=MARKS if own_tokens else ())
    thought = ["<think>", "a", "</think>"]
    assert counts(tokenizer, OPENING, [*thought, "one", "<think>", "b", "</think>", "two"]) is None
    assert counts(tokenizer, OPENING + "<think>\n", [*thought[1:], "one", "<think>", "b"]) is None
    assert counts(tokenizer, OPENING, [*thought, "one", "</think>", "two"]) == length(tokenizer, *thought)


def test_the_words_of_a_question_open_nothing(make_tokenizer: Callable[..., Any]) -> None:
    tokenizer = make_tokenizer(MARKED, marks=MARKS)
    asked = "<|im_start|>user\nwhat is <think>?<|im_end|>\n" + OPENING
    assert counts(tokenizer, asked, ["the level"]) == 0


def test_channels_are_marks_too(make_tokenizer: Callable[..., Any]) -> None:
    channels = ("<|channel|>", "<|message|>", "<|start|>", "<|end|>")
    template = "{{ messages[0].content }}<|channel|>final<|message|>{{ reasoning_effort }}"
    tokenizer = make_tokenizer(template, marks=channels, control=True)
    thought = ["<|channel|>", "analysis", "<|message|>", "the level", "<|end|>", "<|start|>", "assistant"]
    final = ["<|channel|>", "final", "<|message|>"]
    assert counts(tokenizer, "<|start|>assistant", [*thought, *final, "x"]) == length(tokenizer, *thought, *final)
    assert counts(tokenizer, "<|start|>assistant", thought[:4]) == length(tokenizer, *thought[:4])
    assert counts(tokenizer, "<|start|>assistant", [*final, "x"]) == 0
    call = ["<|channel|>", "commentary to=functions.level ", "<|message|>"]
    assert counts(tokenizer, "<|start|>assistant", [*thought, *call, '{"river": "x"}']) == length(
        tokenizer, *thought, *call
    )
    assert counts(tokenizer, "<|start|>assistant", [*call, "{}"]) == 0
    analysis = [*thought[:4], "<|end|>", "<|start|>", "assistant"]
    assert counts(tokenizer, "<|start|>assistant", [*analysis, *analysis, *final, "x"]) == length(
        tokenizer, *analysis, *analysis, *final
    )
    assert counts(tokenizer, "<|start|>assistant", [*thought, *call, "{}", *analysis, *final, "x"]) is None
    assert reader(tokenizer).of_control_tokens


def test_a_target_without_marks_has_no_reader(make_tokenizer: Callable[..., Any]) -> None:
    assert ThinkingReader.of(make_tokenizer()) is None
    assert not reader(make_tokenizer(MARKED, marks=MARKS)).of_control_tokens


@pytest.mark.parametrize(
    ("text", "opened", "expected"),
    [
        ("<think>\na\n</think>\n\nb", False, ("a", "b")),
        ("a\n</think>\n\nb", True, ("a", "b")),
        ("a\n</think>b", False, ("", "a\n</think>b")),  # quoted
        ("<think>a</think>one <think>b</think>two", False, ("a", "one two")),
        ("<think>a</think>what <think> is", False, ("a", "what <think> is")),
        ("<think>\na", False, ("a", "")),
        ("a", True, ("a", "")),
        ("\nb", False, ("", "\nb")),
    ],
)
def test_a_text_is_split_at_its_mark(
    make_tokenizer: Callable[..., Any], text: str, expected: tuple[str, str], *, opened: bool
) -> None:
    assert reader(make_tokenizer(MARKED)).marks.split(text, opened=opened) == expected


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("<|START_THINKING|>{{ x }}<|END_THINKING|>", "<|START_THINKING|>7<|END_THINKING|>9"),  # Command
        ("{{ '<|channel>thought\n<channel|>' }}", "<|channel>thought\n7\n<channel|>9"),  # Gemma 4
        ("{% set begin = '<mm:think>' %}", "<mm:think>7</mm:think>9"),  # MiniMax-M3
        ("{% set inner = '<|inner_prefix|>' %}", "<|inner_prefix|>7<|inner_suffix|>9"),  # Apertus
        ("[THINK]{{ x }}[/THINK]", "[THINK]7[/THINK]9"),  # Mistral
        ("<seed:think>", "<seed:think>7</seed:think>9"),  # Seed-OSS
    ],
)
def test_makers_mark_thinking_in_their_own_ways(make_tokenizer: Callable[..., Any], template: str, text: str) -> None:
    tokenizer = make_tokenizer(template)
    assert reader(tokenizer).marks.split(text, opened=False) == ("7", "9")
    assert counts(tokenizer, OPENING, [text.removesuffix("9"), "9"]) == length(tokenizer, text.removesuffix("9"))
    opening, _, rest = text.partition("7")
    ended = ["7", rest.removesuffix("9")]
    assert counts(tokenizer, OPENING + opening, [*ended, "9"]) == length(tokenizer, *ended)


def test_marks_that_a_template_puts_together_are_known_from_the_vocabulary(make_tokenizer: Callable[..., Any]) -> None:
    template = "{{ '<think{}>'.format(':opensource') }}"  # in Hy3's manner
    assert ThinkingReader.of(make_tokenizer(template)) is None
    tokenizer = make_tokenizer(template, marks=("<think:opensource>", "</think:opensource>"))
    assert counts(tokenizer, OPENING, ["<think:opensource>", "so", "</think:opensource>", "x"]) == 2 + length(
        tokenizer, "so"
    )
