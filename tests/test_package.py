"""What holds for the package as a whole: its floors, its weight at import, the size of its modules, what it may say."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FLOORS = ("bench", "dashboards", "backends", "suites", "results")
MODULES = sorted(path for floor in FLOORS for path in (ROOT / floor).rglob("*.py"))
MOST_LINES = 400

HEAVY = ("torch", "transformers", "pandas", "scipy", "plotly", "numpy", "pyarrow", "accelerate", "gguf")
"""What must not be paid for by a command that does not use it."""

MACHINE_PATHS = re.compile(r"(?<![\w.])/(?:work|root|tmp/dev|home/(?!ann/|someone/)[a-z]\w*)/")
"""Ann and someone are made up, for tests of how paths are shown."""

LARGE_ON_PURPOSE = {"tests/data/smollm2-135m-eagle3/model.safetensors"}
"""Test data that cannot be made on the spot: a trained head. No wheel and no source distribution holds it."""


def tracked_files() -> list[Path]:
    """Every file under version control that is text; skips outside a checkout."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout, so there is no list of files to read")
    listing = subprocess.run([git, "-C", str(ROOT), "ls-files", "-z"], check=True, capture_output=True, text=True)
    paths = [ROOT / name for name in listing.stdout.split("\0") if name]
    return [path for path in paths if path.is_file() and not path.is_symlink()]


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def imported_by(statement: str) -> set[str]:
    """Return which heavy packages a fresh interpreter has loaded after a statement."""
    code = f"import sys\n{statement}\nprint(*[name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return set(done.stdout.split())


def test_imports_point_down_never_up() -> None:
    code = "import sys; from importlinter.cli import lint_imports_command; sys.exit(lint_imports_command())"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    "statement",
    [
        "import draftmark",
        "import draftmark.bench.cli",
        "import draftmark.backends.registry, draftmark.backends.models",
        "import draftmark.suites.registry",
        "import draftmark.bench.environment, draftmark.bench.cli.models, draftmark.bench.cli.doctor",
        "import draftmark.bench.cli.run, draftmark.bench.cli.show, draftmark.bench.cli.report",
        "import draftmark.results.run_folder.store, draftmark.results.records",
    ],
)
def test_importing_the_frame_pulls_in_no_heavy_package(statement: str) -> None:
    assert imported_by(statement) == set()


def test_the_heavy_packages_are_noticed_when_they_are_loaded() -> None:
    assert "numpy" in imported_by("import numpy")


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_a_module_is_one_chapter_that_says_what_it_is_for(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(text)), f"{relative(path)} opens without a sentence that says what it is for"
    assert len(text.splitlines()) <= MOST_LINES, f"{relative(path)} has more than {MOST_LINES} lines: two subjects"


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_no_module_is_a_drawer_for_odds_and_ends(path: Path) -> None:
    assert path.stem not in {"utils", "util", "common", "misc", "helpers", "helper"}


def test_the_import_name_leads_to_every_floor() -> None:
    for floor in FLOORS:
        assert (ROOT / "draftmark" / floor).resolve() == ROOT / floor
        assert (ROOT / floor / "__init__.py").is_file()


def test_no_tracked_file_knows_somebodys_machine() -> None:
    guilty = []
    for path in tracked_files():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        guilty += [f"{relative(path)}: {found[0]}" for found in MACHINE_PATHS.finditer(text) if path != Path(__file__)]
    assert guilty == []


def test_no_tracked_file_is_larger_than_a_reader_of_the_source_expects() -> None:
    large = {relative(path) for path in tracked_files() if path.stat().st_size > 2_000_000}
    assert large - LARGE_ON_PURPOSE == set()


@pytest.mark.parametrize("name", ["LICENSE", "README.md", "pyproject.toml", "constraints.txt", "Makefile", ".ci/run"])
def test_what_a_checkout_promises_is_there(name: str) -> None:
    assert (ROOT / name).stat().st_size > 0


def test_the_licence_is_apache_2() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License" in text
    assert "Version 2.0, January 2004" in text


def test_every_script_a_target_calls_is_there() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    called = set(re.findall(r"scripts/[\w.-]+", makefile)) | set(re.findall(r"examples/[\w.-]+", makefile))
    assert called
    assert [name for name in sorted(called) if not (ROOT / name).is_file()] == []


def test_constraints_meet_what_the_package_asks_for() -> None:
    """Every pinned version must satisfy the range that pyproject.toml gives for it."""
    import tomllib

    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    asked = [Requirement(line) for group in [project["dependencies"], *extras] for line in group]
    pins = {}
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, _, pin = line.partition("==")
            pins[canonicalize_name(name)] = pin
    wrong = [
        f"{need} against {pins[canonicalize_name(need.name)]}"
        for need in asked
        if canonicalize_name(need.name) in pins and not need.specifier.contains(pins[canonicalize_name(need.name)])
    ]
    assert wrong == []


SHELL = [*sorted((ROOT / "scripts").glob("*.sh")), ROOT / ".ci" / "run"]


@pytest.mark.parametrize("path", SHELL, ids=relative)
def test_shell_scripts_parse_and_stop_at_the_first_fault(path: Path) -> None:
    shell = "bash" if "bash" in path.read_text(encoding="utf-8").splitlines()[0] else "sh"
    assert subprocess.run([shell, "-n", str(path)], capture_output=True, check=False).returncode == 0
    assert re.search(r"^set -eu", path.read_text(encoding="utf-8"), re.MULTILINE)
