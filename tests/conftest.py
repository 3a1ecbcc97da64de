"""What several folders of tests need: a tiny model made on the spot, an installed plug-in, and a run of it."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

HERE = Path(__file__).parent
PLUGIN = HERE / "plugin"

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Started in the background of a shell, as CI may do: what tests start would inherit that, and Ctrl-C be ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the engines first: they take minutes, and one of several processes has all of them."""
    items.sort(key=lambda item: item.get_closest_marker("engines") is None)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """Share the tests out to processes by file, so that a file's fixtures are made once, but all engines to one.

    Two engines at once would want more than the memory and cores there are.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            path = nodeid.partition("::")[0]
            return "engines" if path.startswith("tests/engines/") else path

    return ByFile(config, log)


@pytest.fixture(scope="session")
def tiny_target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random Llama of two layers, a token per byte, with room for 4,096 of them; it has no chat template."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("models") / "tiny"
    symbols = ["<eos>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    core = Tokenizer(models.BPE({symbol: index for index, symbol in enumerate(symbols)}, merges=[]))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    PreTrainedTokenizerFast(tokenizer_object=core, eos_token="<eos>").save_pretrained(folder)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        config = LlamaConfig(
            vocab_size=len(symbols),
            hidden_size=32,
            intermediate_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=4096,
            initializer_range=0.3,
            eos_token_id=0,
            bos_token_id=None,
        )
        LlamaForCausalLM(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def plugin_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for PYTHONPATH into which the plug-in was installed from its source, as any package is."""
    root = tmp_path_factory.mktemp("plugin")
    shutil.copytree(PLUGIN, root / "source", ignore=shutil.ignore_patterns("__pycache__"))
    options = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", root / "installed", root / "source"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return root / "installed"


@pytest.fixture(scope="session")
def draftmark_command(plugin_folder: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Call the command as it is installed, in a process that finds the plug-in beside it."""
    script = Path(sysconfig.get_path("scripts")) / "draftmark"

    def call(*arguments: object) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"PYTHONPATH": str(plugin_folder), "HF_HUB_OFFLINE": "1"}
        command = [script, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)

    return call


@pytest.fixture(scope="session")
def write_parrot_plan(tmp_path_factory: pytest.TempPathFactory, tiny_target: Path) -> Callable[..., Path]:
    """Write a plan that names all three kinds of the plug-in; keys are changed by name."""

    def write(**changes: Any) -> Path:
        plan: dict[str, Any] = {
            "name": "parrots",
            "target": str(tiny_target),
            "backends": [{"kind": "parrot", "step_s": 0.1, "draft_s": 0.02}],
            "drafters": [{"kind": "none"}, {"kind": "mimic", "draft_length": [3], "right": 2}],
            "suites": [{"kind": "sayings"}],
            "sampling": {"max_tokens": 10},
            "chat_template": "none",
        }
        path = tmp_path_factory.mktemp("plans") / "plan.yaml"
        path.write_text(json.dumps(plan | changes), encoding="utf-8")
        return path

    return write


@pytest.fixture(scope="session")
def parrot_run(
    tmp_path_factory: pytest.TempPathFactory,
    write_parrot_plan: Callable[..., Path],
    draftmark_command: Callable[..., subprocess.CompletedProcess[str]],
) -> Path:
    """The folder of that plan's run, made by the command itself; not to be changed."""
    folder = tmp_path_factory.mktemp("runs") / "parrots"
    done = draftmark_command("run", write_parrot_plan(), "--out", folder, "--quiet")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="session")
def made_runs() -> ModuleType:
    """The builder of runs of known truth."""
    spec = importlib.util.spec_from_file_location("made_runs", Path(__file__).with_name("made_runs.py"))
    module = importlib.util.module_from_spec(spec)
    sys.modules["made_runs"] = module  # its dataclass looks itself up there
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def make_run(made_runs: ModuleType, tmp_path: Path) -> Callable[..., Path]:
    """Write a run of known truth into a folder of this name."""

    def make(name: str, **changes: Any) -> Path:
        return made_runs.make_run(tmp_path / name, **changes)

    return make
