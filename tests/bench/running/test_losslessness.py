"""Where outputs part, put to the target, and what then stands in the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from draftmark.results.run_folder.store import RunStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Bench

    from draftmark.results.records import Divergence
    from draftmark.suites.prompt import Suite

    MakeSuite = Callable[..., Suite]


def divergences(bench: Bench) -> dict[str, list[Divergence]]:
    """Divergences by arm, only of cells whose outputs were compared."""
    store = RunStore.read(bench.folder)
    cells = [cell for cell in store.manifest.cells if store.divergences_checked(cell.cell_id)]
    return {cell.key.arm.label: store.divergences(cell.cell_id) for cell in cells}


def test_equal_outputs_leave_an_empty_list_for_every_arm_and_the_control(bench: Bench, make_suite: MakeSuite) -> None:
    bench.run(make_suite("a", "b"))
    assert divergences(bench) == {"none (control)": [], "ngram D=3": []}


JUDGED = {
    "TIE": ("numeric-tie", "the margin 0.001 is within the numeric difference 0.01"),
    "": ("fault", "the margin 5 exceeds the numeric difference 0.01"),
    "NO-LOGITS": ("unknown", "the engine gives no logits to judge by"),
    "NO-CHECK": ("unknown", "the engine could not be asked: RuntimeError: no memory left"),
}


@pytest.mark.parametrize("word", JUDGED)
def test_the_target_judges_the_first_place_where_tokens_part(
    bench: Bench, make_suite: MakeSuite, fake: Any, word: str
) -> None:
    text = f"DIVERGE {word}"
    outcome = bench.run(make_suite("same", text))
    (row,) = divergences(bench)["ngram D=3"]
    baseline = fake.answer(fake.FakeRenderer().prompt_ids([{"role": "user", "content": text}]), 9)
    assert (row.question_id, row.position, row.baseline_id, row.arm_id) == ("q1", 2, baseline[2], ord("!"))
    assert (row.verdict, row.reason) == JUDGED[word]
    assert divergences(bench)["none (control)"] == []
    assert (outcome.exit_code, outcome.summary.divergences) == (0, [row])


def test_the_target_is_asked_with_the_prompt_and_the_common_output(
    bench: Bench, make_suite: MakeSuite, fake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, str, tuple[int, int]]] = []

    def evidence(self: Any, arm: Any, prefix: Any, tokens: Any) -> None:
        asked.append((arm.label, fake.text(prefix), tokens))

    monkeypatch.setattr(fake.FakeBackend, "tie_evidence", evidence)
    bench.run(make_suite(["first", "DIVERGE"]), warmup=0)
    requests = {arm.label: request for arm, request in fake.REQUESTS if "DIVERGE" in fake.text(request.prompt_ids)}
    prompt = requests["none"].prompt_ids
    answer = fake.answer(prompt, 9)
    assert asked == [("ngram D=3", fake.text([*prompt, *answer[:2]]), (answer[2], ord("!")))]


def test_turns_that_were_asked_something_else_are_not_compared(bench: Bench, make_suite: MakeSuite) -> None:
    bench.run(make_suite(["DIVERGE", "DIVERGE again"]))
    assert [(row.turn_index, row.position) for row in divergences(bench)["ngram D=3"]] == [(0, 2)]


def test_failed_turns_are_not_compared(bench: Bench, make_suite: MakeSuite) -> None:
    bench.run(make_suite("FAIL", "DIVERGE"))
    assert [row.question_id for row in divergences(bench)["ngram D=3"]] == ["q1"]


def test_above_temperature_0_texts_are_never_compared(bench: Bench, make_suite: MakeSuite) -> None:
    outcome = bench.run(make_suite("DIVERGE"), sampling={"max_tokens": 9, "temperature": 0.7})
    assert divergences(bench) == {}
    assert outcome.status == "complete"


def test_without_a_baseline_there_is_nothing_to_compare(bench: Bench, make_suite: MakeSuite) -> None:
    outcome = bench.run(make_suite("DIVERGE"), drafters=[{"kind": "ngram", "draft_length": 3}], baseline=False)
    assert divergences(bench) == {}
    assert (outcome.status, outcome.exit_code) == ("complete", 0)


def test_a_run_stopped_before_the_comparison_makes_up_for_it(bench: Bench, make_suite: MakeSuite, fake: Any) -> None:
    suite = make_suite("DIVERGE TIE", "a")
    assert bench.run(suite, stop_after=6).status == "interrupted"
    assert divergences(bench) == {}
    fake.REQUESTS.clear()
    assert bench.run(suite).status == "complete"
    assert fake.REQUESTS == []
    assert [row.verdict for row in divergences(bench)["ngram D=3"]] == ["numeric-tie"]
