"""What makes a run's answers or prompts unfit to measure lights its lamp, end to end: the mock server does each."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from draftmark.backends.mock import MockSettings, mock_process
from draftmark.results.run_folder.store import RunStore
from draftmark.results.summarise import summarise
from draftmark.suites.prompt import Prompt, Suite

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from draftmark.results.summary import Lamp

WORDS = 30
"""Of each prompt; the mock counts four tokens more, for the message and the beginning: 34."""


@pytest.fixture
def lamps(plain_call: Callable[..., Any], tmp_path: Path) -> Callable[..., list[Lamp]]:
    """The lamps of a run against a server that lies so."""

    def run(*lies: str, dialect: str = "vllm") -> list[Lamp]:
        suite = tmp_path / "suite.jsonl"
        rows = [{"question_id": f"q{n}", "turns": [" ".join(["say", *[str(n)] * (WORDS - 1)])]} for n in range(4)]
        suite.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        drafts: dict[str, Any] = {"draft_length": 3, "accept": (0.7, 0.5, 0.3)}
        with mock_process(MockSettings(dialect=dialect, ttft_s=0.002, step_s=0.0005, lies=lies, **drafts)) as url:
            words = ("--url", url, "--suite", suite, "--max-tokens", 32, "--draft-length", 3)
            said = plain_call("run", *words, "--out", tmp_path / "run", "--quiet")
        assert said.code == 0, said.err
        return summarise(RunStore.read(tmp_path / "run")).lamps

    return run


@pytest.mark.parametrize(
    ("lie", "name", "level", "words"),
    [
        ("one-token", "answers", "fault", "4 of 4 answers ended by their first token"),
        ("answer-cut", "answers", "warning", "4 of 4 answers were cut before max_tokens"),
        ("loops", "answers", "warning", "100% of the answers mostly repeat themselves"),
        ("prefix-hits", "values", "warning", "The engine took 88% of the prompt tokens from its prefix cache"),
    ],
)
def test_each_way_of_being_unfit_lights_its_lamp(
    lamps: Callable[..., list[Lamp]], lie: str, name: str, level: str, words: str
) -> None:
    found = [lamp.text for lamp in lamps(lie) if (lamp.name, lamp.level) == (name, level)]
    assert any(words in text for text in found), found


def test_an_honest_server_lights_none_of_them(lamps: Callable[..., list[Lamp]]) -> None:
    found = lamps()
    assert [lamp for lamp in found if lamp.name == "prompts"] == []
    assert [lamp.text for lamp in found if lamp.name == "answers"] == [
        "Every answer was cut at max_tokens, so nothing is known about how these texts end: raise max_tokens."
    ]
    assert not any("prefix cache" in lamp.text for lamp in found)


@pytest.mark.parametrize("dialect", ["openai", "sglang", "trtllm", "llamacpp"])
def test_prompts_from_a_cache_are_told_in_every_dialect(lamps: Callable[..., list[Lamp]], dialect: str) -> None:
    # 30 of 34 tokens, the part of nine tenths that is whole.
    assert any("took 88% of the prompt tokens" in lamp.text for lamp in lamps("prefix-hits", dialect=dialect))


@pytest.fixture
def long_prompts(fake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two prompts of 36 and 46 tokens by the fake tokenizer, which takes a character for a token."""
    import fake_draftmark

    prompts = tuple(Prompt(question_id=f"q{n}", turns=("x" * n,)) for n in (30, 40))
    monkeypatch.setattr(fake_draftmark, "SUITE", Suite(name="talk", prompts=prompts))


@pytest.mark.usefixtures("long_prompts")
@pytest.mark.parametrize(
    ("lie", "words"),
    [
        ("prompt-cut", "always 24 where more went out: it cuts prompts there, and answers what is left."),
        ("bos-doubled", "always one more: a second beginning-of-sequence token?"),
    ],
)
def test_prompts_that_were_read_otherwise_are_told_with_the_targets_tokenizer_at_hand(
    call: Callable[..., Any],
    plan_file: Callable[..., Path],
    tmp_path: Path,
    lie: str,
    words: str,
) -> None:
    with mock_process(MockSettings(ttft_s=0.002, step_s=0.0005, lies=(lie,))) as url:
        backend = {"kind": "openai", "base_url": url, "model": "mock-model"}
        drafters = [{"kind": "as-served", "draft_length": 0}]
        plan = plan_file(backends=[backend], drafters=drafters, baseline=False)
        said = call("run", plan, "--out", tmp_path / "run", "--quiet")
    assert said.code == 0, said.err
    (text,) = [lamp.text for lamp in summarise(RunStore.read(tmp_path / "run")).lamps if lamp.name == "prompts"]
    assert words in text
