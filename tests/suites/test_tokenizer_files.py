"""Tokenizers read from their folders without transformers: the same ids as with it, and only where that is certain."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from draftmark.suites.rendering import Renderer
from draftmark.suites.tokenizer_files import FolderTokenizer, folder_tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable

CHATML = (Path(__file__).parent / "chatml.jinja").read_text(encoding="utf-8").removesuffix("\n")
TEMPLATES = {
    "ChatML": CHATML,
    "blocks on lines of their own": (
        "{%- for message in messages %}\n    {% if not message.content %}\n{% continue %}\n    {% endif %}\n"
        "<|im_start|>{{ message.role }}: {{ message.content | trim }}\n{% endfor %}"
    ),
    "tokens, tools and settings": (
        "{{ bos_token }}{{ eos_token }}{{ pad_token is defined }}{{ tools is none }}{{ documents is none }}"
        "{{ messages[0] | tojson }}{{ messages | tojson(indent=2, sort_keys=true) }}{{ strftime_now('%Y') }}"
    ),
    "answers marked for training": (
        "{% set ns = namespace(n=0) %}{% for message in messages %}"
        "{% generation %}{% set ns.n = ns.n + 1 %}{% set x = 1 %}"
        "{{ message.content }}{% endgeneration %}{{ ns.n }}{{ x is defined }}{% endfor %}"
    ),
}
CONVERSATIONS: list[list[dict[str, str]]] = [
    [{"role": "user", "content": 'the level of the river, "read" <b>&</b> at 08:15 \u2028 ü \U0001f600'}],
    [{"role": "user", "content": "  a <|im_end|>\n<|im_start|>system\nb  "}],
    [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "one\r\n\ttwo"},
        {"role": "assistant", "content": "three<|im_start|>"},
        {"role": "user", "content": "four"},
    ],
]


@pytest.fixture
def saved(tmp_path: Path, make_tokenizer: Callable[..., Any]) -> Callable[..., Path]:
    """Write a model's folder, as far as its tokenizer goes."""

    def write(
        template: str | None = CHATML, *, bos: str | None = None, settings: Any = (), model: str = "llama"
    ) -> Path:
        make_tokenizer(template, bos=bos or "<|im_start|>").save_pretrained(tmp_path)
        path = tmp_path / "tokenizer_config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **dict(settings)}))
        (tmp_path / "config.json").write_text(json.dumps({"model_type": model}))
        return tmp_path

    return write


def both(folder: Path, **options: Any) -> tuple[Renderer, Renderer]:
    """Return the renderer without transformers, and the one with it."""
    from transformers import AutoTokenizer

    ours = folder_tokenizer(str(folder), {"trust_remote_code": False, "local_files_only": True})
    assert ours is not None
    theirs = AutoTokenizer.from_pretrained(str(folder), trust_remote_code=False, local_files_only=True)
    assert len(ours) == len(theirs)
    assert (ours.bos_token, ours.bos_token_id) == (theirs.bos_token, theirs.bos_token_id)
    return Renderer(ours, **options), Renderer(theirs, **options)


def ids(renderer: Renderer, messages: list[dict[str, str]]) -> list[int] | str:
    """Return the ids of a conversation, or why there are none."""
    from draftmark.suites.prompt import SuiteError

    try:
        return renderer.prompt_ids(messages)
    except SuiteError as fault:
        return str(fault)


@pytest.mark.parametrize("template", TEMPLATES.values(), ids=TEMPLATES)
@pytest.mark.parametrize("messages", CONVERSATIONS)
def test_ids_and_texts_are_those_of_transformers(
    saved: Callable[..., Path], template: str, messages: list[dict[str, str]]
) -> None:
    ours, theirs = both(saved(template))
    found = ids(ours, messages)
    assert found == ids(theirs, messages)
    plain = [entry | {"content": entry["content"].replace("<|", "< |")} for entry in messages]
    found = ours.prompt_ids(plain)
    assert found == theirs.prompt_ids(plain)
    assert ours.decode(found) == theirs.decode(found)


def test_raw_text_has_the_same_ids_with_a_token_that_the_tokenizer_puts_in_front(saved: Callable[..., Path]) -> None:
    ours, theirs = both(saved(bos="<s>"), chat_template="none")
    for messages in CONVERSATIONS:
        found = ours.prompt_ids(messages)
        assert found == theirs.prompt_ids(messages)
        assert found[0] == ours.tokenizer.bos_token_id


SWITCHED = CHATML + (
    "{% if add_generation_prompt and enable_thinking is defined and enable_thinking is false %}"
    "{{ '<think>\n\n</think>\n\n' }}{% endif %}{{ bos_token }}"
)


@pytest.mark.parametrize("options", [{}, {"enable_thinking": False}, {"enable_thinking": True, "bos_token": "x"}])
def test_options_of_the_template_have_the_same_effect(saved: Callable[..., Path], options: dict[str, Any]) -> None:
    ours, theirs = both(saved(SWITCHED), template_options=options)
    found = ours.prompt_ids(CONVERSATIONS[0])
    assert found == theirs.prompt_ids(CONVERSATIONS[0])
    assert ("</think>" in ours.decode(found)) == (options.get("enable_thinking") is False)


def test_options_of_the_template_leave_the_folder_to_no_one_else(saved: Callable[..., Path]) -> None:
    renderer = Renderer.load(str(saved(SWITCHED)), template_options={"enable_thinking": False})
    assert isinstance(renderer.tokenizer, FolderTokenizer)
    assert "</think>" in renderer.decode(renderer.prompt_ids(CONVERSATIONS[0]))


def test_a_template_refuses_in_the_same_words(saved: Callable[..., Path]) -> None:
    ours, theirs = both(saved("{{ raise_exception('no ' + messages[0].role) }}"))
    said = ids(ours, CONVERSATIONS[2])
    assert said == ids(theirs, CONVERSATIONS[2])
    assert "refuses messages of roles system, user, assistant, user: no system" in said


def test_a_template_cannot_reach_out_of_its_sandbox(saved: Callable[..., Path]) -> None:
    ours, _ = both(saved("{{ messages.__class__.__mro__ }}"))
    assert "refuses messages" in ids(ours, CONVERSATIONS[0])


def test_a_folder_without_a_template_is_refused_as_before(saved: Callable[..., Path]) -> None:
    from draftmark.suites.prompt import SuiteError

    with pytest.raises(SuiteError, match="has no chat template; name a tuned model"):
        Renderer.load(str(saved(None)))


@pytest.mark.parametrize(
    "settings",
    [
        {"tokenizer_class": "LlamaTokenizer"},
        {"add_bos_token": True},
        {"extra_special_tokens": ["<x>"]},
        {"eos_token": "<not there>"},
        {"eos_token": {"content": "<|im_end|>"}},
        {"chat_template": CHATML},
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_a_setting_that_may_change_tokens_leaves_the_folder_to_transformers(
    saved: Callable[..., Path], settings: dict[str, Any]
) -> None:
    assert folder_tokenizer(str(saved()), {}) is not None
    assert folder_tokenizer(str(saved(settings=settings)), {}) is None


@pytest.mark.parametrize("name", ["added_tokens.json", "special_tokens_map.json", "vocab.json", "tokenizer.model"])
def test_a_file_that_may_change_tokens_leaves_the_folder_to_transformers(saved: Callable[..., Path], name: str) -> None:
    (saved() / name).write_text("{}")
    assert folder_tokenizer(str(saved()), {}) is None


def test_other_models_options_and_places_are_left_to_transformers(saved: Callable[..., Path], tmp_path: Path) -> None:
    folder = str(saved())
    assert isinstance(folder_tokenizer(folder, {"local_files_only": True}), FolderTokenizer)
    assert folder_tokenizer(folder, {"gguf_file": "model.gguf"}) is None
    assert folder_tokenizer(folder, {"trust_remote_code": True}) is None
    assert folder_tokenizer("owner/name", {}) is None
    assert folder_tokenizer(str(saved(model="mistral")), {}) is None
    assert folder_tokenizer(str(tmp_path / "none"), {}) is None


@pytest.mark.parametrize(("key", "value"), [("post_processor", None), ("truncation", {"max_length": 8})])
def test_what_transformers_would_replace_in_the_tokenizer_leaves_it_to_transformers(
    saved: Callable[..., Path], key: str, value: Any
) -> None:
    path = saved() / "tokenizer.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    assert folder_tokenizer(str(path.parent), {}) is None


def test_prompts_are_rendered_without_importing_transformers(saved: Callable[..., Path]) -> None:
    program = (
        "import sys; from draftmark.suites.rendering import Renderer;"
        "ids = Renderer.load(sys.argv[1], trust_remote_code=False, local_files_only=True)"
        ".prompt_ids([{'role': 'user', 'content': 'a'}]);"
        "assert ids; assert not {'transformers', 'torch'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program, str(saved())], check=True)


DATED = "{{ messages[0].content }} {{ strftime_now('%d %B %Y, %Y-%m-%d') }}"


def test_the_date_is_the_same_on_every_day_with_transformers_and_without(saved: Callable[..., Path]) -> None:
    for renderer in both(saved(DATED)):
        asked = renderer.prompt_ids([{"role": "user", "content": "when"}])
        assert renderer.decode(asked) == "when 01 January 2025, 2025-01-01"
        assert renderer.template_date == "2025-01-01"


@pytest.mark.parametrize(
    ("template", "date"),
    [
        (CHATML, None),
        ("{{ messages[0].content }}{% if strftime_now is defined %}{{ strftime_now('%Y') }}{% endif %}", "2025-01-01"),
        ("{{ messages[0].content }}{# strftime_now('%Y') #}{{ messages[0].strftime_now }}", None),
        ("{{ messages[0].content }}{% set today = strftime_now('%Y-%m-%d') %}", None),  # asked for, and not written
        ("{{ messages[0].content }}{{ date_string | default(strftime_now('%d %b %Y')) }}", "2025-01-01"),
    ],
)
def test_a_template_is_known_to_have_written_a_date(
    saved: Callable[..., Path], template: str, date: str | None
) -> None:
    for renderer in both(saved(template)):
        assert renderer.template_date is None
        renderer.prompt_ids([{"role": "user", "content": "when"}])
        assert renderer.template_date == date


def test_a_date_of_ones_own_stands_in_its_place(saved: Callable[..., Path]) -> None:
    template = (
        "{{ messages[0].content }} {% if not day is defined %}{% set day = strftime_now('%Y') %}{% endif %}{{ day }}"
    )
    for renderer in both(saved(template), template_options={"day": "1 May 2026"}):
        assert renderer.decode(renderer.prompt_ids([{"role": "user", "content": "when"}])) == "when 1 May 2026"
        assert renderer.template_date is None
