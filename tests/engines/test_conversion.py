"""A GGUF file and the folder made from it are the same model: weights, logits, tokens and chat template."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.engines

HIDDEN, HEADS, KV_HEADS, MIDDLE, LAYERS = 32, 4, 2, 64, 2
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = "{% for m in messages %}<|im_start|>{{ m['content'] }}<|im_end|>{% endfor %}"


@pytest.fixture(scope="module")
def gguf_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of two tiny layers with random weights, half of its matrices quantised, and a byte-level tokenizer."""
    gguf = pytest.importorskip("gguf")
    numpy = pytest.importorskip("numpy")
    bytes_to_unicode = pytest.importorskip("transformers.convert_slow_tokenizer").bytes_to_unicode
    random = numpy.random.default_rng(0)
    tokens = [*SPECIAL, *bytes_to_unicode().values(), "he", "ll", "hell"]
    path = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(LAYERS)
    writer.add_context_length(128)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(MIDDLE)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_rope_dimension_count(HIDDEN // HEADS)
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(tokens)
    writer.add_token_types([3] * len(SPECIAL) + [1] * (len(tokens) - len(SPECIAL)))
    writer.add_token_merges(["h e", "l l", "he ll"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_pad_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_chat_template(TEMPLATE)
    head = HIDDEN // HEADS
    shapes = {"attn_q": HIDDEN, "attn_k": KV_HEADS * head, "attn_v": KV_HEADS * head, "attn_output": HIDDEN}
    writer.add_tensor("token_embd.weight", random.standard_normal((len(tokens), HIDDEN), dtype=numpy.float32))
    writer.add_tensor("output_norm.weight", numpy.ones(HIDDEN, dtype=numpy.float32))
    for layer in range(LAYERS):
        for name in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{layer}.{name}.weight", numpy.ones(HIDDEN, dtype=numpy.float32))
        for name, rows in [*shapes.items(), ("ffn_gate", MIDDLE), ("ffn_up", MIDDLE)]:
            values = random.standard_normal((rows, HIDDEN), dtype=numpy.float32)
            kind = gguf.GGMLQuantizationType.Q4_1
            writer.add_tensor(f"blk.{layer}.{name}.weight", gguf.quantize(values, kind), raw_dtype=kind)
        down = random.standard_normal((HIDDEN, MIDDLE), dtype=numpy.float32)
        writer.add_tensor(f"blk.{layer}.ffn_down.weight", down)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture(scope="module")
def folder(gguf_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from draftmark.backends.model_fetching import convert_gguf

    made = tmp_path_factory.mktemp("converted") / "tiny"
    convert_gguf(gguf_file, made)
    return made


def test_weights_and_logits_are_those_of_the_gguf_file(gguf_file: Path, folder: Path) -> None:
    torch = pytest.importorskip("torch")
    from transformers import AutoModelForCausalLM

    from draftmark.backends.models import locate

    before, after = (
        AutoModelForCausalLM.from_pretrained(name, dtype=torch.float32, **arguments).eval()
        for name, arguments in (locate(str(gguf_file)).pretrained(), locate(str(folder)).pretrained())
    )
    expected, found = before.state_dict(), after.state_dict()
    assert expected.keys() == found.keys()
    assert all(torch.equal(expected[name], found[name]) for name in expected)
    ids = torch.arange(20)[None]
    with torch.inference_mode():
        assert torch.equal(before(ids).logits, after(ids).logits)


def test_tokens_and_template_are_those_of_the_gguf_file(gguf_file: Path, folder: Path) -> None:
    from transformers import AutoTokenizer

    before = AutoTokenizer.from_pretrained(str(gguf_file.parent), gguf_file=gguf_file.name)
    after = AutoTokenizer.from_pretrained(str(folder))
    for text in ("hello hell", "<|im_start|>user<|im_end|>", "é 中\n\t"):
        assert after(text).input_ids == before(text).input_ids
    assert after.eos_token_id == before.eos_token_id == 2
    assert after.chat_template == TEMPLATE


def test_the_folder_says_nothing_of_quantisation_and_can_be_read_by_others(folder: Path) -> None:
    assert "quantization_config" not in (folder / "config.json").read_text()
    assert {oct(file.stat().st_mode & 0o777) for file in folder.iterdir()} == {"0o644"}


def test_gguf_and_folder_count_the_same_parameters(gguf_file: Path, folder: Path) -> None:
    from draftmark.backends.model_files import identity
    from draftmark.backends.models import locate

    vocabulary = len(SPECIAL) + 256 + 3
    head = HIDDEN // HEADS
    layer = 2 * HIDDEN * HIDDEN + 2 * KV_HEADS * head * HIDDEN + 3 * HIDDEN * MIDDLE + 2 * HIDDEN
    for name in (gguf_file, folder):
        found = identity(locate(str(name)))
        assert found.vocabulary == vocabulary
        assert found.parameters == vocabulary * HIDDEN + LAYERS * layer + HIDDEN
