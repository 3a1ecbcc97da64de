"""`draftmark doctor --checkpoint`: what a folder of model files is, whether it fits a target, its line in a plan."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

HEAD = Path(__file__).parents[2] / "data" / "smollm2-135m-eagle3"
SMOLLM2 = {"architectures": ["LlamaForCausalLM"], "hidden_size": 576, "num_hidden_layers": 30, "vocab_size": 49152}


@pytest.fixture
def folder(tmp_path: Path) -> Callable[..., Path]:
    """Write a folder that holds a config.json and, as its weights, one empty pickle."""

    def write(config: Any, name: str = "target") -> Path:
        path = tmp_path / name
        path.mkdir()
        (path / "config.json").write_text(json.dumps(config), encoding="utf-8")
        (path / "pytorch_model.bin").write_bytes(b"")
        return path

    return write


def rows(text: str) -> dict[str, str]:
    """The lines of the answer by their first words."""
    return {
        line[:14].strip(): line[14:].strip() for line in text.splitlines() if line[:1].isalpha() and line[12:14] == "  "
    }


def test_a_head_is_named_with_what_it_asks_for_and_its_line_of_a_plan(call: Callable[..., Any]) -> None:
    said = call("doctor", "--checkpoint", HEAD)
    assert said.code == 0
    shown = rows(said.out)
    assert shown["drafter"].startswith("eagle3: ")
    assert shown["draft length"] == "not stated; begin with 3"
    assert shown["proposes"] == "4096 of the target's 49152 tokens"
    assert shown["reads"] == "3 of the target's hidden states, 576 wide, from layers that the engine chooses"
    assert shown["asks for"] == "a target with hidden size 576, a vocabulary of 49152 tokens"
    assert shown["quantisation"] == "none stated"
    assert shown["size"] == "15.0 MB in 1 file: BF16 14.9 MB, BOOL 49.2 kB, I64 32.8 kB"
    assert said.out.splitlines()[-1].strip() == f"- {{kind: eagle3, model: {HEAD}, draft_length: 3}}"


def test_a_head_that_fits_its_target_says_which_layers_it_reads(
    call: Callable[..., Any], folder: Callable[..., Path]
) -> None:
    said = call("doctor", "--checkpoint", HEAD, "--target", folder(SMOLLM2))
    assert said.code == 0
    assert "It fits." in said.out
    assert rows(said.out)["reads"] == "the target's hidden states after layers 2, 15 and 27, 576 wide: vLLM's choice"


def test_each_thing_that_does_not_fit_is_a_line_of_its_own(
    call: Callable[..., Any], folder: Callable[..., Path]
) -> None:
    said = call("doctor", "--checkpoint", HEAD, "--target", folder(SMOLLM2 | {"hidden_size": 960}))
    assert said.code == 2
    assert rows(said.out)["problem"] == "it reads hidden states 576 wide, and the target's are 960 wide"
    assert "draft_length: 3" not in said.out


def test_json_holds_what_was_read_and_what_was_compared(call: Callable[..., Any], folder: Callable[..., Path]) -> None:
    target = folder(SMOLLM2 | {"vocab_size": 500})
    said = call("doctor", "--checkpoint", HEAD, "--target", target, "--json")
    assert said.code == 2
    found = json.loads(said.out)
    assert (found["kind"], found["draft_vocabulary"], found["hidden_states"], found["tensors"]) == (
        "eagle3",
        4096,
        3,
        15,
    )
    assert found["target"]["name"] == str(target)
    assert found["target"]["vocabulary"] == 500
    assert found["fits"] is False
    assert found["problems"] == [
        "its vocabulary has 49152 tokens, and the target's has 500",
        "its t2d covers 49152 tokens, and the target's vocabulary has 500",
    ]
    assert found["plan_entry"] == {"kind": "eagle3", "model": str(HEAD), "draft_length": 3}


def test_without_a_target_nothing_is_said_to_fit(call: Callable[..., Any]) -> None:
    found = json.loads(call("doctor", "--checkpoint", HEAD, "--json").out)
    assert (found["fits"], found["target"], found["problems"]) == (None, None, [])


def test_a_language_model_can_be_both_target_and_draft_model(
    call: Callable[..., Any], folder: Callable[..., Path]
) -> None:
    path = folder(SMOLLM2)
    said = call("doctor", "--checkpoint", path)
    assert said.code == 0
    assert f"target: {path}" in said.out
    assert f"- {{kind: draft-model, model: {path}, draft_length: 3}}" in said.out
    assert rows(said.out)["note"].endswith("their shapes were not checked")


def test_a_target_that_brings_its_drafter_needs_no_other_model(
    call: Callable[..., Any], folder: Callable[..., Path]
) -> None:
    path = folder(SMOLLM2 | {"architectures": ["MiMoForCausalLM"], "num_nextn_predict_layers": 1})
    said = call("doctor", "--checkpoint", path, "--target", path)
    assert said.code == 0
    assert "- {kind: mtp, draft_length: 1}" in said.out
    assert rows(said.out)["brings"].startswith("layers for multi-token prediction, 1 of them")


@pytest.mark.parametrize("option", ["--checkpoint", "--target"])
def test_what_is_not_there_is_one_sentence(call: Callable[..., Any], option: str) -> None:
    arguments = {"--checkpoint": HEAD, "--target": HEAD} | {option: "no-such/model"}
    said = call("doctor", *(item for pair in arguments.items() for item in pair))
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("draftmark: model 'no-such/model': there is no such folder")
    assert len(said.err.splitlines()) == 1


def test_a_target_without_sizes_cannot_be_compared(call: Callable[..., Any], folder: Callable[..., Path]) -> None:
    said = call("doctor", "--checkpoint", HEAD, "--target", folder({"architectures": ["LlamaForCausalLM"]}))
    assert said.code == 2
    assert "tells neither hidden_size nor vocab_size" in said.err


def test_a_target_alone_is_refused(call: Callable[..., Any]) -> None:
    said = call("doctor", "--target", "smollm2-135m")
    assert said.code == 2
    assert "--target" in said.err


def test_hostile_text_does_nothing_to_a_terminal(call: Callable[..., Any], folder: Callable[..., Path]) -> None:
    evil = "\x1b]0;owned\x07\x1b[31m\r\u202e[bold]"
    config = {
        "architectures": ["LlamaForCausalLMEagle3"],
        "speculators_model_type": "eagle3",
        "speculators_version": evil,
        "dtype": evil,
        "hidden_size": 576,
        "quantization_config": {"quant_method": evil, "quant_algo": evil},
        "speculators_config": {"verifier": {"name_or_path": evil}, "proposal_methods": [{"speculative_tokens": 2}]},
    }
    path = folder(config, name=f"head {evil}")
    for arguments in ([], ["--json"], ["--target", path]):
        said = call("doctor", "--checkpoint", path, *arguments)
        assert not set(said.out + said.err) & set("\x1b\x07\r\u202e")
        assert "owned" in said.out
    assert "[bold]" in said.out


@pytest.mark.parametrize("key", ["architectures", "speculators_model_type"])
def test_hostile_text_in_a_refusal_does_nothing_either(
    call: Callable[..., Any], folder: Callable[..., Path], key: str
) -> None:
    evil = "\x1b[31m" + "x" * 10_000
    said = call("doctor", "--checkpoint", folder({key: [evil] if key == "architectures" else evil}))
    assert said.code == 2
    assert "\x1b" not in said.err
    assert len(said.err) < 1000


def test_it_imports_no_engine_and_no_array_library() -> None:
    code = (
        "import sys\nfrom draftmark.bench.cli.doctor_checkpoint import look_at\n"
        "look_at(sys.argv[1], None, as_json=True)\n"
        "heavy = {'torch', 'transformers', 'vllm', 'numpy', 'pandas', 'safetensors'} & set(sys.modules)\n"
        "print(sorted(heavy), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, HEAD], check=True, capture_output=True, text=True)
    assert done.stderr.strip() == "[]"
