"""`draftmark run --url`: a running server, no plan, no tokenizer; what it tells is on record and keys are not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from draftmark.backends.mock import MockSettings, mock_process
from draftmark.bench.plans.document import PlanError
from draftmark.bench.plans.served import Asked, server_plan
from draftmark.results.run_folder.store import RunStore
from draftmark.results.summarise import summarise
from draftmark.suites.naming import find_suite

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

KEY = "canary-0f6d2b"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """D = 3; steps accept 3, 0, 2, 3, ... drafts."""
    settings = MockSettings(ttft_s=0.002, step_s=0.001, draft_length=3, accepted_cycle=(3, 0, 2), model="org/tiny")
    with mock_process(settings) as url:
        yield url


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "suite.jsonl"
    rows = [{"question_id": f"q{n}", "category": "c", "turns": [f"say {n}", "again"]} for n in range(8)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_server_is_measured_without_a_plan(
    plain_call: Callable[..., Any], server: str, suite: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    said = plain_call(
        "run", "--url", server, "--suite", suite, "--concurrency", "1,2", "--max-tokens", "13", "--out", folder
    )
    assert said.code == 0, said.err
    store = RunStore.read(folder)
    assert store.manifest.target.name == "org/tiny"
    assert store.manifest.plan["drafters"] == [{"kind": "as-served", "optional": False, "draft_length": 3}]
    assert store.manifest.plan["backends"][0]["dialect"] == "vllm"
    assert [cell.key.load.concurrency for cell in store.manifest.cells] == [1, 2]
    for cell in store.manifest.cells:
        turns = list(store.turns(cell.cell_id))
        assert [turn.status for turn in turns] == ["ok"] * 16
        # 12 tokens after the first in steps of 4, 1, 3 and 4
        assert {tuple(turn.steps.delivered) for turn in turns if turn.steps is not None} == {(4, 1, 3, 4)}
    lengths = [cell.metrics["acceptance_length"].value for cell in summarise(store).cells if cell.category is None]
    assert lengths == [3.0, 3.0]


def test_the_same_command_goes_on_with_the_run(
    plain_call: Callable[..., Any], server: str, suite: Path, tmp_path: Path
) -> None:
    words = ["run", "--url", server, "--suite", suite, "--max-tokens", "5", "--out", tmp_path / "run"]
    assert plain_call(*words).code == 0
    again = plain_call(*words)
    assert again.code == 0
    assert "16 of 16 turns are there already" in again.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--url", "http://127.0.0.1:9"], "no server answers at http://127.0.0.1:9"),
        (["--url", "127.0.0.1:9"], "must be a URL such as"),
        (["--url", f"http://u:{KEY}@127.0.0.1:9"], "must hold no user, password or query"),
        (["--url", "http://127.0.0.1:9", "--concurrency", "1,zero"], "no list of whole numbers"),
        (["--url", "http://127.0.0.1:9", "--suite", "codign"], "did you mean 'coding'?"),
        (["--url", "http://127.0.0.1:9", "--api-key-env", "NO_SUCH_KEY"], "the environment variable NO_SUCH_KEY"),
        (["plan.yaml", "--url", "http://127.0.0.1:9"], "not both"),
        (["--url", "http://127.0.0.1:9", "--stall-timeout", "0"], "stall_timeout_s: must be above 0"),
        (["--url", "http://127.0.0.1:9", "--stall-timeout", "inf"], "stall_timeout_s: must be a finite number"),
        ([], "name a plan file, or a server with --url"),
    ],
)
def test_what_is_wrong_is_told_in_a_sentence(plain_call: Callable[..., Any], words: list[str], sentence: str) -> None:
    said = plain_call("run", *words)
    assert said.code == 2
    assert sentence in " ".join(said.err.split())
    assert KEY not in said.err + said.out


def test_a_server_that_falls_silent_is_waited_for_as_long_as_asked(
    plain_call: Callable[..., Any], suite: Path, tmp_path: Path
) -> None:
    words = [
        "--suite",
        suite,
        "--limit",
        "1",
        "--max-tokens",
        "20",
        "--stall-timeout",
        "0.3",
        "--out",
        tmp_path / "run",
    ]
    with mock_process(MockSettings(lies=("stall",))) as url:
        said = plain_call("run", "--url", url, *words)
    assert said.code == 1
    store = RunStore.read(tmp_path / "run")
    (cell,) = store.manifest.cells
    first, later = store.turns(cell.cell_id)
    assert first.failure is not None
    assert "nothing came for 0.3 seconds" in first.failure.message
    assert later.status == "failed"


LOOKING = "draftmark.bench.plans.served._look"


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("org/tiny", "org/tiny"),
        ("<script>x</script>", "<script>x</script>"),
        ("/srv/models/tiny", "tiny"),
    ],
)
def test_a_run_is_called_as_the_server_calls_its_model(
    monkeypatch: pytest.MonkeyPatch, suite: Path, model: str, name: str
) -> None:
    monkeypatch.setattr(LOOKING, lambda _: ({"served_model": model, "dialect": "openai"}, None))
    plan = server_plan(Asked("http://127.0.0.1:9", [find_suite(str(suite), None)], [1]))
    assert (plan["name"], plan["backends"][0]["model"]) == (name, model)


def test_a_model_whose_name_cannot_be_kept_is_told_with_its_server(
    monkeypatch: pytest.MonkeyPatch, suite: Path
) -> None:
    monkeypatch.setattr(LOOKING, lambda _: ({"served_model": "m" * 201, "dialect": "openai"}, None))
    with pytest.raises(PlanError, match=r"the server at \S+:9 calls its model by a name of 201 characters"):
        server_plan(Asked("http://127.0.0.1:9", [find_suite(str(suite), None)], [1]))


def test_an_exact_length_needs_the_tokenizer(plain_call: Callable[..., Any], server: str) -> None:
    said = plain_call("run", "--url", server, "--suite", "long-sequence")
    assert said.code == 2
    assert "target" in said.err


def test_a_key_is_sent_and_stands_nowhere(
    plain_call: Callable[..., Any], suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEMO_API_KEY", KEY)
    folder = tmp_path / "run"
    with mock_process(MockSettings(lies=("auth-echo",))) as url:
        said = plain_call("run", "--url", url, "--suite", suite, "--api-key-env", "DEMO_API_KEY", "--out", folder)
    assert said.code == 1
    plain_call("report", folder, "--out", tmp_path / "site")
    written = [path for root in (folder, tmp_path / "site") for path in root.rglob("*") if path.is_file()]
    assert len(written) > 3
    assert [path for path in written if KEY.encode() in path.read_bytes()] == []
    assert KEY not in said.out + said.err
    failed = [
        turn for cell in RunStore.read(folder).manifest.cells for turn in RunStore.read(folder).turns(cell.cell_id)
    ]
    assert {turn.failure.kind for turn in failed if turn.failure is not None} >= {"unauthorized"}
    assert any("[redacted]" in turn.failure.message for turn in failed if turn.failure is not None)


def test_thinking_is_asked_for_counted_and_on_record(
    plain_call: Callable[..., Any], suite: Path, tmp_path: Path
) -> None:
    settings = MockSettings(
        ttft_s=0.002, step_s=0.001, draft_length=3, accepted_cycle=(3, 0, 2), reasoning_tokens=6, model="thinker"
    )
    words = ["--suite", suite, "--limit", "2", "--max-tokens", "21"]
    with mock_process(settings) as url:
        said = plain_call("run", "--url", url, *words, "--thinking", "on", "--out", tmp_path / "on")
        plain = plain_call("run", "--url", url, *words, "--out", tmp_path / "as-served")
        wrong = plain_call("run", "--url", url, *words, "--thinking", "maybe")
    assert (said.code, plain.code) == (0, 0), said.err
    assert "thinker thinking on" in said.out
    assert wrong.code == 2
    assert "thinking: must be" in wrong.err
    stores = [RunStore.read(tmp_path / name) for name in ("on", "as-served")]
    assert [store.manifest.thinking for store in stores] == ["on (asked of the server)", "as the server does it"]
    (cell,) = stores[0].manifest.cells
    assert {turn.thinking_tokens for turn in stores[0].turns(cell.cell_id)} == {6}
    (overall,) = [one for one in summarise(stores[0]).cells if one.category is None]
    # steps of 4, 1, 3, 4, 1, 3 and 4 tokens, of which two begin within the first six tokens
    assert overall.metrics["acceptance_length@thinking"].value == 5 / 2
    assert overall.metrics["acceptance_length@answer"].value == 15 / 5
