"""Tools, calls of them and their answers reach the target's template, or are refused; never left out in silence."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from draftmark.suites.prompt import SuiteError
from draftmark.suites.rendering import Renderer

TEMPLATE = Path(__file__).parents[2] / "examples" / "chatml-tools.jinja"
LOOK = {"type": "function", "function": {"name": "look"}}


def conversation(answer: str = "shut", place: str = "door") -> list[dict[str, Any]]:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": f'{{"at": "{place}"}}'}}
    return [
        {"role": "user", "content": "Is it shut?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": answer, "tool_call_id": "c1"},
    ]


@pytest.fixture(autouse=True)
def _template_is_put_back(tokenizer: Any) -> Any:
    kept = tokenizer.chat_template
    yield
    tokenizer.chat_template = kept


@pytest.fixture
def showing(tokenizer: Any) -> Renderer:
    return Renderer(tokenizer, chat_template=str(TEMPLATE))


def test_a_template_of_ones_own_is_handed_the_tools_and_arguments_as_objects(showing: Renderer, tokenizer: Any) -> None:
    text = (
        "<|im_start|>system\nFunctions that you may call, one on a line:\n"
        '{"type": "function", "function": {"name": "look"}}\n'
        'To call one, write <tool_call>{"name": NAME, "arguments": OBJECT}</tool_call>.<|im_end|>\n'
        "<|im_start|>user\nIs it shut?<|im_end|>\n"
        '<|im_start|>assistant\n<tool_call>{"name": "look", "arguments": {"at": "door"}}</tool_call><|im_end|>\n'
        "<|im_start|>tool\nshut<|im_end|>\n"
        "<|im_start|>assistant\n"
    )
    assert showing.prompt_ids(conversation(), [LOOK]) == tokenizer.encode(text, add_special_tokens=False)


def test_the_example_keeps_the_system_message_and_what_an_answer_says_beside_its_calls(
    showing: Renderer, tokenizer: Any
) -> None:
    talk = [{"role": "system", "content": "Be brief."}, *conversation()]
    calls = talk[2]["tool_calls"]
    talk[2] = {**talk[2], "content": "Twice.", "tool_calls": [*calls, *calls]}
    call = '<tool_call>{"name": "look", "arguments": {"at": "door"}}</tool_call>'
    text = showing.decode(showing.prompt_ids(talk, [LOOK]))
    assert text.startswith("system\nBe brief.\n\nFunctions that you may call")
    assert f"assistant\nTwice.\n{call}\n{call}\n" in text


def test_a_template_that_leaves_tools_or_calls_out_is_refused_with_the_way_out(renderer: Renderer) -> None:
    with pytest.raises(SuiteError, match=r"leaves tools out.*chat_template: PATH.jinja"):
        renderer.prompt_ids(conversation()[:1], [LOOK])
    with pytest.raises(SuiteError, match="leaves calls of tools out"):
        renderer.prompt_ids(conversation())


def test_a_template_that_leaves_a_tools_answer_out_is_refused(tokenizer: Any, tmp_path: Path) -> None:
    deaf = tmp_path / "deaf.jinja"
    deaf.write_text("{% for m in messages if m.role != 'tool' %}{{ m.content }}{{ m.tool_calls }}{% endfor %}")
    with pytest.raises(SuiteError, match="leaves answers of tools out"):
        Renderer(tokenizer, chat_template=str(deaf)).prompt_ids(conversation())


def test_special_tokens_in_a_tools_answer_stay_text(showing: Renderer, tokenizer: Any) -> None:
    ids = showing.prompt_ids(conversation("shut<|im_end|>ajar"), [LOOK])
    end = tokenizer.convert_tokens_to_ids("<|im_end|>")
    assert ids.count(end) == 4  # those that the template wrote
    assert "shut<|im_end|>ajar" in tokenizer.decode(ids)


@pytest.mark.parametrize(
    ("said", "tools"),
    [
        (conversation(place="<|im_end|>"), [LOOK]),
        (conversation(), [LOOK | {"function": {"name": "look", "description": "Ends <|im_end|>."}}]),
    ],
)
def test_special_tokens_in_calls_and_tools_are_refused(showing: Renderer, said: list[Any], tools: list[Any]) -> None:
    with pytest.raises(SuiteError, match="it stands in a tool or in a call of one"):
        showing.prompt_ids(said, tools)


def test_special_tokens_in_the_thinking_of_an_answer_are_refused(showing: Renderer) -> None:
    thought = {"role": "assistant", "content": "yes", "reasoning_content": "ends <|im_end|>"}
    talk = [{"role": "user", "content": "a"}, thought, {"role": "user", "content": "b"}]
    with pytest.raises(SuiteError, match=r"thinking of an earlier answer.*earlier_reasoning: stripped"):
        showing.prompt_ids(talk)


def test_raw_text_has_no_place_for_tools(tokenizer: Any) -> None:
    with pytest.raises(SuiteError, match="no place for tools"):
        Renderer(tokenizer, chat_template="none").prompt_ids(conversation()[:1], [LOOK])


def test_a_template_file_must_be_a_regular_file_of_utf8_and_of_a_megabyte_at_most(
    tokenizer: Any, tmp_path: Path
) -> None:
    pipe, large, latin = tmp_path / "pipe", tmp_path / "large", tmp_path / "latin"
    os.mkfifo(pipe)
    large.write_bytes(b"x" * 1_000_001)
    latin.write_bytes("für".encode("latin-1"))
    faults = {
        str(pipe): "is no regular file",
        "/dev/zero": "is no regular file",
        str(tmp_path): "is no regular file",
        str(large): "has more than 1 MB",
        str(latin): "is not UTF-8: .* at byte 2",
    }
    for path, fault in faults.items():
        with pytest.raises(SuiteError, match=f"chat_template: {path} {fault}"):
            Renderer(tokenizer, chat_template=path)


def test_a_template_file_that_is_not_there_is_named(tokenizer: Any) -> None:
    with pytest.raises(SuiteError, match=r"chat_template: there is no file lost.jinja"):
        Renderer(tokenizer, chat_template="lost.jinja")


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "thinking"])
def test_thinking_of_an_earlier_answer_reaches_the_template_by_the_name_it_reads(
    tokenizer: Any, tmp_path: Path, field: str
) -> None:
    path = tmp_path / "thinking.jinja"
    path.write_text(f"{{% for m in messages %}}{{{{ m.{field} }}}}{{{{ m.content }}}}\n{{% endfor %}}")
    talk = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "yes", "reasoning_content": "so "},
        {"role": "user", "content": "b"},
    ]
    renderer = Renderer(tokenizer, chat_template=str(path))
    assert renderer.decode(renderer.prompt_ids(talk)) == "a\nso yes\nb\n"
    assert talk[1]["reasoning_content"] == "so "  # servers are asked with it


def test_special_tokens_in_options_of_the_template_are_refused(tokenizer: Any, tmp_path: Path) -> None:
    path = tmp_path / "greeting.jinja"
    path.write_text("{{ greeting }}{% for m in messages %}{{ m.content }}{% endfor %}")
    for option in ("Hi<|im_end|>", ["Hi", {"a": "<|im_end|>"}]):
        renderer = Renderer(tokenizer, chat_template=str(path), template_options={"greeting": option})
        with pytest.raises(SuiteError, match="it stands in template_options"):
            renderer.prompt_ids([{"role": "user", "content": "a"}])
