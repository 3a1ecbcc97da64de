"""Switches that templates have for thinking, and thinking told from answer in a target's own tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from draftmark.suites.thinking import ThinkingReader, modes, options, switches

if TYPE_CHECKING:
    from collections.abc import Callable

QWEN3 = (
    "{%- for message in messages %}"
    "{%- set content = message.content %}"
    "{%- if message.role == 'assistant' and '</think>' in content %}"
    "{%- set content = content.split('</think>')[-1].lstrip('\\n') %}{%- endif %}"
    "{{- '<|im_start|>' + message.role + '\n' + content + '<|im_end|>\n' }}{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}"
    "{%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\n\n</think>\n\n' }}{%- endif %}"
    "{%- endif %}"
)
"""In Qwen3's manner: its own switch, and thinking of earlier answers left out."""


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        (QWEN3, {"enable_thinking"}),
        ("{% if not thinking is defined %}{% set thinking = false %}{% endif %}{{ thinking }}", {"thinking"}),
        ("{%- set enable_thinking = enable_thinking | default(true) %}{{ enable_thinking }}", {"enable_thinking"}),
        ("{% macro system() %}{{ reasoning_effort }}{% endmacro %}{{ system() }}", {"reasoning_effort"}),
        ("{# enable_thinking #}{{ 'enable_thinking' }} thinking", set()),
        ("{{ message.thinking }}{% for thinking in messages %}{{ thinking }}{% endfor %}", set()),
        (
            "{% for m in messages %}{% generation %}{{ thinking }}{% endgeneration %}{% break %}{% endfor %}",
            {"thinking"},
        ),
        ({"default": "{{ thinking }}", "tool_use": "{{ enable_thinking }}"}, {"thinking"}),
        ([{"name": "default", "template": "{{ thinking }}"}, {"name": "rag", "template": "{{ x }}"}], {"thinking"}),
        ({"rag": "{{ thinking }}", "tool_use": "{{ enable_thinking }}"}, {"thinking", "enable_thinking"}),
        (None, set()),
        ("{% if thinking %}", set()),  # damaged: rendering says so
    ],
)
def test_switches_are_what_a_template_reads(template: Any, expected: set[str]) -> None:
    assert switches(template) == expected


def test_what_can_be_said_follows_from_the_switches() -> None:
    assert modes({"enable_thinking"}) == ("on", "off")
    assert modes({"reasoning_effort"}) == ("low", "medium", "high")
    assert modes({"thinking", "reasoning_effort"}) == ("on", "off", "low", "medium", "high")
    assert modes(set()) == ()
    assert options("off", {"thinking"}) == {"thinking": False}
    assert options("on", {"enable_thinking", "reasoning_effort"}) == {"enable_thinking": True}
    assert options("low", {"enable_thinking", "reasoning_effort"}) == {
        "enable_thinking": True,
        "reasoning_effort": "low",
    }


# Thinking in tokens

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
    tokenizer = make_tokenizer(QWEN3, marks=MARKS if own_tokens else ())
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
    tokenizer = make_tokenizer(QWEN3, marks=MARKS if own_tokens else ())
    assert counts(tokenizer, OPENING, ["<think>", "the level"]) == length(tokenizer, "<think>", "the level")
    assert counts(tokenizer, OPENING + "<think>\n", ["the level"]) == length(tokenizer, "the level")


def test_without_thinking_there_is_none(make_tokenizer: Callable[..., Any]) -> None:
    tokenizer = make_tokenizer(QWEN3, marks=MARKS)
    assert counts(tokenizer, OPENING, ["the level"]) == 0
    assert counts(tokenizer, OPENING + "<think>\n\n</think>\n\n", ["the level"]) == 0
    assert counts(tokenizer, OPENING + "<think>\n\n</think>\n\n", ["the level", "</think>", "x"]) == 0
    assert counts(tokenizer, OPENING, []) == 0


@pytest.mark.parametrize("own_tokens", [True, False], ids=["tokens of their own", "ordinary text"])
def test_an_end_that_nothing_opened_is_quoted(make_tokenizer: Callable[..., Any], *, own_tokens: bool) -> None:
    tokenizer = make_tokenizer(QWEN3, marks=MARKS if own_tokens else ())
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
    tokenizer = make_tokenizer(QWEN3, marks=MARKS if own_tokens else ())
    thought = ["<think>", "a", "</think>"]
    assert counts(tokenizer, OPENING, [*thought, "one", "<think>", "b", "</think>", "two"]) is None
    assert counts(tokenizer, OPENING + "<think>\n", [*thought[1:], "one", "<think>", "b"]) is None
    assert counts(tokenizer, OPENING, [*thought, "one", "</think>", "two"]) == length(tokenizer, *thought)


def test_the_words_of_a_question_open_nothing(make_tokenizer: Callable[..., Any]) -> None:
    tokenizer = make_tokenizer(QWEN3, marks=MARKS)
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
    assert not reader(make_tokenizer(QWEN3, marks=MARKS)).of_control_tokens


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
    assert reader(make_tokenizer(QWEN3)).marks.split(text, opened=opened) == expected


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("<|START_THINKING|>{{ x }}<|END_THINKING|>", "<|START_THINKING|>a<|END_THINKING|>b"),  # Command
        ("{{ '<|channel>thought\n<channel|>' }}", "<|channel>thought\na\n<channel|>b"),  # Gemma 4
        ("{% set begin = '<mm:think>' %}", "<mm:think>a</mm:think>b"),  # MiniMax-M3
        ("{% set inner = '<|inner_prefix|>' %}", "<|inner_prefix|>a<|inner_suffix|>b"),  # Apertus
        ("{{ '<think:opensource>' }}", "<think:opensource>a</think:opensource>b"),  # Hy3
        ("[THINK]{{ x }}[/THINK]", "[THINK]a[/THINK]b"),  # Mistral
        ("<seed:think>", "<seed:think>a</seed:think>b"),  # Seed-OSS
    ],
)
def test_makers_mark_thinking_in_their_own_ways(make_tokenizer: Callable[..., Any], template: str, text: str) -> None:
    tokenizer = make_tokenizer(template)
    assert reader(tokenizer).marks.split(text, opened=False) == ("a", "b")
    assert counts(tokenizer, OPENING, [text.removesuffix("b"), "b"]) == length(tokenizer, text.removesuffix("b"))
    assert counts(tokenizer, OPENING + text.partition("a")[0], ["a", text.partition("a")[2]]) is not None
