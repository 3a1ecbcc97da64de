"""Which machine and which version of an engine a cell ran on, and what is said where the records do not tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from draftmark.dashboards.leaderboard.machines import engine_of, hardware_of
from draftmark.results.records import Arm, CellKey, CellRecord, ModelIdentity, RunManifest, Session

if TYPE_CHECKING:
    from types import ModuleType

H100 = "NVIDIA H100, 81559 MiB, 570.1"


def record(backend: str = "vllm", engine: dict[str, Any] | None = None, **resolved: Any) -> CellRecord:
    arm = Arm(drafter="ngram", draft_length=3)
    key = CellKey(backend=backend, engine=engine or {}, target="tiny", arm=arm, suite="coding", suite_hash="5")
    return CellRecord(cell_id="one", key=key, expected_turns=1, resolved=resolved)


def manifest(*machines: Any) -> RunManifest:
    return RunManifest(
        run_id="run",
        name="run",
        plan={},
        plan_hash="9",
        target=ModelIdentity(name="tiny"),
        sessions=[Session(started_at="2026-11-29T21:04:07Z", environment=one) for one in machines],
    )


@pytest.mark.parametrize(
    ("resolved", "machine", "expected"),
    [
        ({"gpus": 0}, {}, "Example CPU, 2 cores"),
        ({"gpus": 2}, {"gpus": [H100] * 8}, "2x NVIDIA H100"),
        ({"gpus": 1, "process": "a server of its own"}, {"gpus": [H100]}, "1x NVIDIA H100"),
    ],
)
def test_the_machine_is_told_in_words(folders: ModuleType, resolved: dict, machine: dict, expected: str) -> None:
    assert hardware_of(record(**resolved), manifest(folders.environment(**machine))).text == expected


def test_a_cpu_is_known_by_the_device_asked_for(folders: ModuleType) -> None:
    asked = record("reference", {"device": "cpu"})
    assert hardware_of(asked, manifest(folders.environment())).text == "Example CPU, 2 cores"


@pytest.mark.parametrize(
    ("resolved", "machine", "why"),
    [
        ({"process": "a server", "gpus": 2}, {"gpus": [H100] * 2}, "only its client's machine"),
        ({}, {"gpus": [H100]}, "how many GPUs"),
        ({"gpus": 1}, {}, "kind of GPU is not recorded"),
        ({"gpus": 1}, {"gpus": [H100, "NVIDIA L4, 23034 MiB, 570.1"]}, "several kinds of GPU"),
        ({"gpus": 0}, {"cpu": None}, "kind of CPU"),
    ],
)
def test_what_the_records_do_not_tell_is_not_guessed(
    folders: ModuleType, resolved: dict, machine: dict, why: str
) -> None:
    found = hardware_of(record(**resolved), manifest(folders.environment(**machine)))
    assert found.text is None
    assert why in found.reason


def test_a_server_named_by_its_address_may_be_anywhere(folders: ModuleType) -> None:
    found = hardware_of(record("openai", {"base_url": "http://127.0.0.1:1"}, gpus=0), manifest(folders.environment()))
    assert found.text is None


def test_a_run_that_went_on_elsewhere_has_no_one_machine(folders: ModuleType) -> None:
    both = manifest(folders.environment(), folders.environment(cpu="Other CPU"))
    found = hardware_of(record(gpus=0), both)
    assert found.text is None
    assert "Example CPU, 2 cores; Other CPU, 2 cores" in found.reason


def test_engines_are_named_with_their_version(folders: ModuleType) -> None:
    one = manifest(folders.environment(packages={"torch": "2.13.0", "parrot": "7.1"}))
    assert engine_of(record("reference"), one).text == "reference (Draftmark 0.1.0, torch 2.13.0)"
    assert engine_of(record("vllm", vllm="0.32.0"), one).text == "vllm 0.32.0"
    assert engine_of(record("openai", vllm="0.32.0"), one).text == "vllm 0.32.0 over openai"
    assert engine_of(record("parrot"), one).text == "parrot 7.1"


def test_the_clients_packages_say_nothing_of_a_server(folders: ModuleType) -> None:
    one = manifest(folders.environment(packages={"sglang": "0.5.7"}))
    found = engine_of(record("sglang", process="a server"), one)
    assert found.text is None
    assert found.reason == "the engine sglang told no version"
