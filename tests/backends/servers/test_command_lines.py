"""What each server is started with for each drafter; the expected words are written by hand from the engines' docs."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from draftmark.backends.base import BackendError
from draftmark.backends.registry import BACKENDS, DRAFTERS

if TYPE_CHECKING:
    from pathlib import Path

    from draftmark.backends.servers.spec import Launch, ServerSpec
    from draftmark.results.records import Arm

PROGRAM = "/opt/engine/bin/serve"
OLD_HELP = """
-m,    --model FNAME                    model path to load
--spec-type [none|ngram-cache|ngram-simple|ngram-map-k|ngram-map-k4v|ngram-mod]
-md,   --model-draft FNAME              draft model for speculative decoding
--draft, --draft-n, --draft-max N       number of tokens to draft for speculative decoding (default: 16)
--draft-p-min P                         minimum speculative decoding probability
--spec-ngram-size-n N                   ngram size N
--spec-ngram-size-m N                   ngram size M
"""
NEW_HELP = """
-m,    --model FNAME                    model path to load
--spec-draft-p-min, --draft-p-min P     minimum speculative decoding probability (greedy) (default: 0.00)
--spec-draft-n-max N                    number of tokens to draft for speculative decoding (default: 3)
--spec-synth-len L                      target mean acceptance length
--spec-synth-rates P0,P1,...            unconditional per-position acceptance
--spec-draft-model, -md, --model-draft FNAME
--spec-type none,draft-simple,draft-eagle3,draft-mtp,draft-dflash,ngram-simple,ngram-map-k,ngram-mod,ngram-cache
--spec-ngram-simple-size-n N            ngram size N for ngram-simple speculative decoding
--spec-ngram-simple-size-m N            ngram size M for ngram-simple speculative decoding
"""


@pytest.fixture
def models(tmp_path: Path) -> dict[str, str]:
    """A folder and a GGUF file, for target and drafter."""
    for name in ("target", "draft"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text("{}")
        (tmp_path / f"{name}.gguf").write_bytes(b"GGUF")
    return {
        "target": str(tmp_path / "target"),
        "draft": str(tmp_path / "draft"),
        "target.gguf": str(tmp_path / "target.gguf"),
        "draft.gguf": str(tmp_path / "draft.gguf"),
    }


def program(tmp_path: Path, says: str = "") -> list[str]:
    """A program that prints a text and ends."""
    file = tmp_path / "serve"
    file.write_text(f"#!/bin/sh\ncat <<'END'\n{says}\nEND\n")
    file.chmod(0o755)
    return [str(file)]


def spec(kind: str, command: list[str], **settings: Any) -> ServerSpec:
    return BACKENDS.resolve(kind).model_validate({"kind": kind, "command": command, **settings})


def arm(kind: str, draft_length: int = 3, **options: Any) -> Arm:
    given = {} if kind in ("none", "as-served") else {"draft_length": draft_length}
    (only,) = DRAFTERS.resolve(kind).model_validate({"kind": kind, **given, **options}).arms()
    return only


def command(launch: Launch) -> list[str]:
    """The command line without the program."""
    return launch.command(8123, "FILE")[1:]


VLLM_BEFORE = ["--host", "127.0.0.1", "--port", "8123", "--served-model-name"]
VLLM_OWN = ["--no-enable-prefix-caching", "--generation-config", "vllm"]
DETAILED = ["--per-request-spec-decode-metrics", "detailed"]


def test_vllm_without_drafter(tmp_path: Path, models: dict[str, str]) -> None:
    launch = spec("vllm-server", program(tmp_path)).launch(arm("none"), models["target"])
    assert command(launch) == [models["target"], *VLLM_BEFORE, models["target"], *VLLM_OWN]
    assert launch.model == models["target"]


@pytest.mark.parametrize(
    ("asked", "config"),
    [
        (
            {"kind": "ngram", "min_match": 2, "max_match": 4},
            {"num_speculative_tokens": 3, "method": "ngram", "prompt_lookup_min": 2, "prompt_lookup_max": 4},
        ),
        ({"kind": "mtp"}, {"num_speculative_tokens": 3, "method": "mtp"}),
        (
            {"kind": "custom", "class_path": "mine.Proposer"},
            {"num_speculative_tokens": 3, "method": "custom_class", "model": "mine.Proposer"},
        ),
    ],
)
def test_vllm_drafters(tmp_path: Path, models: dict[str, str], asked: dict[str, Any], config: dict[str, Any]) -> None:
    launch = spec("vllm-server", program(tmp_path)).launch(arm(**asked), models["target"])
    words = command(launch)
    assert words[:8] == [models["target"], *VLLM_BEFORE, models["target"], "--no-enable-prefix-caching"]
    assert words[8:11] == ["--generation-config", "vllm", "--speculative-config"]
    assert json.loads(words[11]) == config
    assert words[12:] == DETAILED


def test_vllm_fixed_acceptance_over_a_draft_model(tmp_path: Path, models: dict[str, str]) -> None:
    over = {"kind": "draft-model", "model": models["draft"]}
    launch = spec("vllm-server", program(tmp_path)).launch(
        arm("synthetic", over=over, acceptance_length=2.5), models["target"]
    )
    words = command(launch)
    assert json.loads(words[words.index("--speculative-config") + 1]) == {
        "num_speculative_tokens": 3,
        "method": "draft_model",
        "model": models["draft"],
        "rejection_sample_method": "synthetic",
        "synthetic_acceptance_length": 2.5,
    }


def test_a_plans_own_settings_come_last_and_untouched(tmp_path: Path, models: dict[str, str]) -> None:
    given = spec(
        "vllm-server",
        program(tmp_path),
        options={
            "max_model_len": 512,
            "enforce_eager": True,
            "async_scheduling": False,
            "hf_overrides": {"rope": 1},
            "generation_config": "auto",
            "allowed_origins": ["a", "b"],
        },
        args=["-tp", "2", "--disable-uvicorn-access-log"],
        prefix_caching=True,
    )
    assert command(given.launch(arm("none"), models["target"])) == [
        models["target"],
        *VLLM_BEFORE,
        models["target"],
        "--enable-prefix-caching",
        *("--max-model-len", "512"),
        "--enforce-eager",
        "--no-async-scheduling",
        *("--hf-overrides", '{"rope": 1}'),
        *("--generation-config", "auto"),
        *("--allowed-origins", "a", "b"),
        *("-tp", "2", "--disable-uvicorn-access-log"),
    ]


SGLANG_OWN = ["--enable-metrics", "--disable-radix-cache", "--sampling-defaults", "openai"]


@pytest.mark.parametrize(
    ("asked", "flags"),
    [
        ("none", ""),
        (
            "ngram",
            "--speculative-algorithm NGRAM --speculative-num-steps 3 --speculative-num-draft-tokens 4 "
            "--speculative-ngram-max-bfs-breadth 1",
        ),
        (
            "draft-model",
            "--speculative-algorithm STANDALONE --speculative-draft-model-path DRAFT --speculative-num-steps 3 "
            "--speculative-eagle-topk 1 --speculative-num-draft-tokens 4",
        ),
        (
            "eagle",
            "--speculative-algorithm EAGLE --speculative-draft-model-path DRAFT --speculative-num-steps 3 "
            "--speculative-eagle-topk 1 --speculative-num-draft-tokens 4",
        ),
        (
            "eagle3",
            "--speculative-algorithm EAGLE3 --speculative-draft-model-path DRAFT --speculative-num-steps 3 "
            "--speculative-eagle-topk 1 --speculative-num-draft-tokens 4",
        ),
        (
            "mtp",
            "--speculative-algorithm NEXTN --speculative-num-steps 3 --speculative-eagle-topk 1 "
            "--speculative-num-draft-tokens 4",
        ),
        (
            "dflash",
            "--speculative-algorithm DFLASH --speculative-draft-model-path DRAFT --speculative-num-draft-tokens 4",
        ),
        ("dspark", "--speculative-algorithm DSPARK --speculative-dspark-block-size 3"),
    ],
)
def test_sglang_drafters(tmp_path: Path, models: dict[str, str], asked: str, flags: str) -> None:
    options = {"model": models["draft"]} if "DRAFT" in flags else {}
    launch = spec("sglang-server", program(tmp_path)).launch(arm(asked, **options), models["target"])
    assert command(launch) == [
        *("--model-path", models["target"], "--host", "127.0.0.1", "--port", "8123"),
        *("--served-model-name", models["target"]),
        *SGLANG_OWN,
        *(models["draft"] if word == "DRAFT" else word for word in flags.split()),
    ]


def test_sglang_fixed_acceptance_counts_the_verified_token(tmp_path: Path, models: dict[str, str]) -> None:
    asked = arm("synthetic", over={"kind": "eagle3", "model": models["draft"]}, acceptance_length=2.5)
    launch = spec("sglang-server", program(tmp_path)).launch(asked, models["target"])
    assert launch.arguments.environment == {
        "SGLANG_SIMULATE_ACC_LEN": "2.5",
        "SGLANG_SIMULATE_ACC_METHOD": "match-expected",
        "SGLANG_SIMULATE_ACC_TOKEN_MODE": "real-draft-token",
    }
    assert "EAGLE3" in command(launch)


@pytest.mark.parametrize(
    ("asked", "settings"),
    [
        ({"kind": "none"}, {}),
        (
            {"kind": "ngram", "max_match": 4},
            {
                "speculative_config": {
                    "decoding_type": "NGram",
                    "max_draft_len": 3,
                    "max_matching_ngram_size": 4,
                    "is_public_pool": False,
                },
                "disable_overlap_scheduler": True,
            },
        ),
        (
            {"kind": "draft-model", "model": "DRAFT"},
            {
                "speculative_config": {
                    "decoding_type": "Draft_Target",
                    "max_draft_len": 3,
                    "speculative_model": "DRAFT",
                },
                "disable_overlap_scheduler": True,
            },
        ),
        (
            {"kind": "draft-model", "model": "DRAFT", "parallel": True},
            {"speculative_config": {"decoding_type": "PARD", "max_draft_len": 3, "speculative_model": "DRAFT"}},
        ),
        (
            {"kind": "eagle3", "model": "DRAFT"},
            {"speculative_config": {"decoding_type": "Eagle3", "max_draft_len": 3, "speculative_model": "DRAFT"}},
        ),
        (
            {"kind": "dflash", "model": "DRAFT"},
            {"speculative_config": {"decoding_type": "DFlash", "max_draft_len": 3, "speculative_model": "DRAFT"}},
        ),
        ({"kind": "mtp"}, {"speculative_config": {"decoding_type": "MTP", "max_draft_len": 3}}),
    ],
)
def test_trtllm_drafters(
    tmp_path: Path, models: dict[str, str], asked: dict[str, Any], settings: dict[str, Any]
) -> None:
    given = json.loads(json.dumps(asked).replace("DRAFT", models["draft"]))
    launch = spec("trtllm-server", program(tmp_path)).launch(arm(**given), models["target"])
    assert command(launch) == [models["target"], "--host", "127.0.0.1", "--port", "8123", "--config", "FILE"]
    expected = {
        **json.loads(json.dumps(settings).replace("DRAFT", models["draft"])),
        "enable_iter_perf_stats": True,
        "return_perf_metrics": True,
        "kv_cache_config": {"enable_block_reuse": False},
    }
    assert launch.arguments.file == expected


def test_trtllm_fixed_acceptance_counts_drafts_alone(tmp_path: Path, models: dict[str, str]) -> None:
    asked = arm("synthetic", over={"kind": "mtp"}, acceptance_length=2.78)
    launch = spec("trtllm-server", program(tmp_path)).launch(asked, models["target"])
    assert launch.arguments.environment == {"TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS": "1.78"}


def test_trtllm_options_go_into_the_file(tmp_path: Path, models: dict[str, str]) -> None:
    options = {"max_seq_len": 512, "kv_cache_config": {"free_gpu_memory_fraction": 0.5}}
    given = spec("trtllm-server", program(tmp_path), options=options, args=["--tp_size", "2"])
    launch = given.launch(arm("none"), models["target"])
    assert command(launch)[-2:] == ["--tp_size", "2"]
    assert launch.arguments.file["kv_cache_config"] == {"free_gpu_memory_fraction": 0.5, "enable_block_reuse": False}
    assert launch.arguments.file["max_seq_len"] == 512


@pytest.mark.parametrize(
    ("says", "asked", "flags"),
    [
        (NEW_HELP, {"kind": "none"}, ""),
        (
            NEW_HELP,
            {"kind": "ngram", "min_match": 2, "max_match": 2},
            "--spec-type ngram-simple --spec-ngram-simple-size-n 2 --spec-ngram-simple-size-m 3 --spec-draft-n-max 3",
        ),
        (
            OLD_HELP,
            {"kind": "ngram", "min_match": 2, "max_match": 2},
            "--spec-type ngram-simple --spec-ngram-size-n 2 --spec-ngram-size-m 3 --draft-max 3",
        ),
        (
            NEW_HELP,
            {"kind": "draft-model", "model": "DRAFT"},
            "--spec-type draft-simple --model-draft DRAFT --spec-draft-n-max 3 --spec-draft-p-min 0",
        ),
        (OLD_HELP, {"kind": "draft-model", "model": "DRAFT"}, "--model-draft DRAFT --draft-max 3 --draft-p-min 0"),
        (
            NEW_HELP,
            {"kind": "eagle3", "model": "DRAFT"},
            "--spec-type draft-eagle3 --model-draft DRAFT --spec-draft-n-max 3 --spec-draft-p-min 0",
        ),
        (NEW_HELP, {"kind": "mtp"}, "--spec-type draft-mtp --spec-draft-n-max 3 --spec-draft-p-min 0"),
        (
            NEW_HELP,
            {"kind": "synthetic", "over": {"kind": "mtp"}, "acceptance_length": 2.5},
            "--spec-type draft-mtp --spec-draft-n-max 3 --spec-draft-p-min 0 --spec-synth-len 2.5",
        ),
        (
            NEW_HELP,
            {"kind": "synthetic", "over": {"kind": "mtp"}, "acceptance_rates": [0.8, 0.6, 0.2]},
            "--spec-type draft-mtp --spec-draft-n-max 3 --spec-draft-p-min 0 --spec-synth-rates 0.8,0.6,0.2",
        ),
    ],
)
def test_llamacpp_drafters_in_the_words_of_the_build(
    tmp_path: Path, models: dict[str, str], says: str, asked: dict[str, Any], flags: str
) -> None:
    given = {name: models["draft.gguf"] if value == "DRAFT" else value for name, value in asked.items()}
    made = spec("llamacpp-server", program(tmp_path, says), parallel=4)
    launch = made.launch(arm(**given), models["target.gguf"])
    assert command(launch) == [
        *("--model", models["target.gguf"], "--host", "127.0.0.1", "--port", "8123"),
        *("--alias", models["target.gguf"], "--metrics", "--parallel", "4"),
        *(models["draft.gguf"] if word == "DRAFT" else word for word in flags.split()),
    ]
    assert launch.extra_body == {"cache_prompt": False}


@pytest.mark.parametrize(("given", "flags"), [([], ["--log-verbosity", "4"]), (["--log-verbosity", "3"], [])])
def test_llamacpp_logs_its_drafting_time_unless_the_plan_says_how_much_it_logs(
    tmp_path: Path, models: dict[str, str], given: list[str], flags: list[str]
) -> None:
    made = spec("llamacpp-server", program(tmp_path, NEW_HELP + "-lv, --verbosity, --log-verbosity N"), args=given)
    words = command(made.launch(arm(kind="none"), models["target.gguf"]))
    assert words[words.index("--metrics") + 1 :] == [*flags, *given]


def test_llamacpp_counts_what_its_log_tells() -> None:
    made = BACKENDS.resolve("llamacpp-server").model_validate({"kind": "llamacpp-server"})
    log = "statistics ngram-simple: #calls(b,g,a) = 1 2 1, #gen drafts = 1, dur(b,g,a) = 9.0, 250.0, 50.0 ms"
    assert made.logged_counters(log) == {"drafting_s": pytest.approx(0.3)}
    assert made.logged_counters("all slots are idle") == {}


SENTENCES = [
    ("vllm-server", "draft-model", {"model": "DRAFT", "drop_layers": [1]}, {}, "cannot leave out layers"),
    ("vllm-server", "as-served", {}, {}, "vLLM has no drafter 'as-served'"),
    ("sglang-server", "as-served", {}, {}, "SGLang has no drafter 'as-served'"),
    ("sglang-server", "suffix", {}, {}, "SGLang has no drafter 'suffix'"),
    ("sglang-server", "medusa", {"model": "DRAFT"}, {}, "SGLang has no drafter 'medusa'"),
    ("sglang-server", "custom", {"class_path": "a.B"}, {}, "SGLang has no drafter 'custom'"),
    ("sglang-server", "ngram", {"max_match": 5}, {}, "leave them out"),
    ("sglang-server", "eagle3", {"model": "DRAFT", "parallel": True}, {}, "leave out parallel"),
    (
        "sglang-server",
        "synthetic",
        {"over": {"kind": "mtp"}, "acceptance_rates": [0.5, 0.4, 0.3]},
        {},
        "use acceptance_length",
    ),
    (
        "sglang-server",
        "mtp",
        {"draft_length_by_batch": [{"first": 1, "last": 4, "draft_length": 2}]},
        {},
        "schedule of D by batch size",
    ),
    ("sglang-server", "none", {}, {"options": {"trust_remote_code": False}}, "SGLang's flags are on or absent"),
    ("trtllm-server", "eagle", {"model": "DRAFT"}, {}, "TensorRT-LLM has no drafter 'eagle'"),
    ("trtllm-server", "suffix", {}, {}, "TensorRT-LLM has no drafter 'suffix'"),
    ("trtllm-server", "ngram", {"min_match": 2}, {}, "set min_match to 1"),
    ("trtllm-server", "none", {}, {"options": {"kv_cache_config": {"enable_block_reuse": True}}}, "prefix_caching"),
    ("trtllm-server", "none", {}, {"args": ["--extra_llm_api_options", "mine.yaml"]}, "the backend's `options`"),
    ("llamacpp-server", "ngram", {}, {}, "set min_match and max_match both to 3"),
    ("llamacpp-server", "medusa", {"model": "DRAFT"}, {}, "llama.cpp has no drafter 'medusa'"),
    ("llamacpp-server", "dspark", {}, {}, "has no --spec-type draft-dspark; use a newer one"),
    ("llamacpp-server", "draft-model", {"model": "DRAFT"}, {}, "takes GGUF files"),
    ("vllm-server", "none", {}, {"args": ["--speculative_config", "{}"]}, "the plan's `drafters`; remove it"),
    ("vllm-server", "none", {}, {"args": ["--speculative-config.method=ngram"]}, "the plan's `drafters`; remove it"),
    ("vllm-server", "none", {}, {"args": ["--port=80"]}, "args: --port=80 comes from Draftmark"),
    ("vllm-server", "none", {}, {"options": {"model": "x"}}, "options.model comes from the plan's `target`"),
    ("vllm-server", "none", {}, {"options": {"enable_prefix_caching": True}}, "the backend's `prefix_caching`"),
    ("vllm-server", "none", {}, {"args": ["--no-enable-prefix-caching"]}, "the backend's `prefix_caching`"),
    ("vllm-server", "none", {}, {"options": {"enforce_eager": None}}, "options.enforce_eager has no value"),
    ("vllm-server", "none", {}, {"args": ["--api-key", "sk-1234567890"]}, "args: --api-key looks like a key"),
    ("vllm-server", "none", {}, {"options": {"hf_token": "hf_1234567890"}}, "options.hf_token looks like a key"),
    ("vllm-server", "none", {}, {"env": {"HF_TOKEN": "hf_1234567890"}}, "env.HF_TOKEN looks like a key"),
    (
        "sglang-server",
        "none",
        {},
        {"env": {"SGLANG_SIMULATE_ACC_LEN": "3"}},
        "env.SGLANG_SIMULATE_ACC_LEN comes from the plan's `drafters`",
    ),
    ("llamacpp-server", "none", {}, {"args": ["-np", "4"]}, "the backend's `parallel`"),
]


@pytest.mark.parametrize("case", SENTENCES)
def test_what_an_engine_cannot_do_is_said_before_it_starts(
    case: tuple[str, str, dict[str, Any], dict[str, Any], str], tmp_path: Path, models: dict[str, str]
) -> None:
    kind, drafter, options, settings, sentence = case
    given = {name: models["draft"] if value == "DRAFT" else value for name, value in options.items()}
    problem = spec(kind, program(tmp_path, NEW_HELP), **settings).arm_problem(arm(drafter, **given))
    assert problem is not None
    assert sentence in problem
    for secret in ("sk-1234567890", "hf_1234567890"):
        assert secret not in problem


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("vllm-server", "pip install 'draftmark[vllm]'"),
        ("sglang-server", "pip install sglang"),
        ("trtllm-server", "https://nvidia.github.io/TensorRT-LLM"),
        ("llamacpp-server", "https://github.com/ggml-org/llama.cpp"),
    ],
)
def test_a_server_that_is_not_installed_is_told_with_how_to_get_it(
    kind: str, sentence: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("draftmark.backends.servers.spec._scripts", lambda: str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    problem = BACKENDS.resolve(kind).model_validate({"kind": kind}).arm_problem(arm("none"))
    assert problem is not None
    assert "is not installed here" in problem
    assert sentence in problem


def test_a_command_that_is_not_there_is_told() -> None:
    problem = spec("vllm-server", [PROGRAM]).arm_problem(arm("none"))
    assert problem == f"command: there is no program {PROGRAM!r} here; give its whole path"


def test_a_program_is_found_beside_this_python_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("scripts", "elsewhere"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "vllm").write_text("#!/bin/sh\n")
        (tmp_path / folder / "vllm").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "elsewhere"), prepend=os.pathsep)
    monkeypatch.setattr("draftmark.backends.servers.spec._scripts", lambda: str(tmp_path / "scripts"))
    found = BACKENDS.resolve("vllm-server").model_validate({"kind": "vllm-server"})
    assert found.program() == (str(tmp_path / "scripts" / "vllm"), "serve")


@pytest.mark.parametrize("kind", ["vllm-server", "sglang-server", "trtllm-server"])
def test_a_gguf_target_is_for_llamacpp_alone(kind: str, tmp_path: Path, models: dict[str, str]) -> None:
    with pytest.raises(BackendError, match="is a GGUF file"):
        spec(kind, program(tmp_path)).launch(arm("none"), models["target.gguf"])


def test_timeouts_are_no_part_of_what_a_run_is(tmp_path: Path) -> None:
    fast, slow = (spec("vllm-server", program(tmp_path), start_timeout_s=seconds) for seconds in (1.0, 2.0))
    assert fast.engine_settings() == slow.engine_settings()
    assert fast.one_engine_per_arm
    assert fast.most_concurrency == 4096


def test_the_same_command_line_for_every_launch_is_what_is_recorded(tmp_path: Path, models: dict[str, str]) -> None:
    launch = spec("trtllm-server", program(tmp_path)).launch(arm("none"), models["target"])
    assert launch.command("PORT", "FILE")[1:] == [
        models["target"],
        *("--host", "127.0.0.1", "--port", "PORT", "--config", "FILE"),
    ]


@pytest.mark.parametrize(
    ("kind", "option"),
    [
        ("vllm-server", "max_model_len"),
        ("sglang-server", "context_length"),
        ("trtllm-server", "max_seq_len"),
        ("llamacpp-server", "ctx_size"),
    ],
)
def test_the_context_is_what_the_plan_sets_else_what_the_target_was_made_for(
    tmp_path: Path, kind: str, option: str
) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"max_position_embeddings": 96}))
    entry = BACKENDS.resolve(kind)
    found = [
        entry.model_validate({"kind": kind, "options": options}).context_limit(str(tmp_path))
        for options in ({}, {option: 64}, {option: "auto"})
    ]
    assert found == [96, 64, 96]
