"""Tiny models made on the spot, and stand-ins for model, drafter and clock whose every answer is known beforehand."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from draftmark.backends.base import TurnRequest
from draftmark.backends.reference import ReferenceSpec
from draftmark.backends.reference.clock import HostClock
from draftmark.backends.reference.drafters import Draft
from draftmark.backends.reference.engine import Engine
from draftmark.results.records import Arm, Observation, Sampling

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

NONE = Arm(drafter="none", draft_length=0)
WORDS = ["<eos>", *(f"w{index}" for index in range(1, 40))]


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> Iterator[None]:
    """Tiny tensors gain nothing from threads, and shared cores lose much."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def write_model(folder: Path, module: Any, words: Sequence[str] = WORDS) -> str:
    """Save a model with a tokenizer of whole words, `<eos>` its end token; return the folder's name."""
    vocabulary = {word: index for index, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=WORDS[0]))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    module.save_pretrained(folder)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=WORDS[0]).save_pretrained(folder)
    return str(folder)


def tiny_llama(seed: int, **changes: Any) -> LlamaForCausalLM:
    """A random Llama whose next token depends strongly on the tokens before (large initial weights)."""
    torch.manual_seed(seed)
    settings: dict[str, Any] = {
        "vocab_size": len(WORDS),
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 256,
        "initializer_range": 0.3,
        "eos_token_id": None,
        "bos_token_id": None,
    }
    return LlamaForCausalLM(LlamaConfig(**settings | changes)).eval()


@pytest.fixture(scope="session")
def models_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="session")
def target(models_folder: Path) -> str:
    """A tiny Llama of 40 words and 4 layers, context limit 256."""
    return write_model(models_folder / "target", tiny_llama(1, num_hidden_layers=4))


@pytest.fixture(scope="session")
def other(models_folder: Path) -> str:
    """Another Llama of the same words, its embedding padded to 64 rows."""
    return write_model(models_folder / "other", tiny_llama(2, vocab_size=64))


@pytest.fixture(scope="session")
def save_model() -> Callable[..., str]:
    """Save a model with a tokenizer of whole words; return the folder's name."""
    return write_model


@pytest.fixture(scope="session")
def save_llama() -> Callable[[Path, Sequence[str]], str]:
    """Save a tiny Llama whose tokenizer has these words."""
    return lambda folder, words: write_model(folder, tiny_llama(3, vocab_size=len(words)), words)


@pytest.fixture
def start() -> Iterator[Callable[..., Any]]:
    """Start a reference backend on a target with the given arms; stopped after the test."""
    running = []

    def run(target: str, *arms: Arm, **settings: Any) -> Any:
        backend = ReferenceSpec(**settings).create(target)
        running.append(backend)
        backend.start(arms)
        return backend

    yield run
    for backend in running:
        backend.stop()


@pytest.fixture(scope="session")
def ask() -> Callable[..., Observation]:
    """Answer one turn of a running backend."""

    def answer(backend: Any, arm: Arm, prompt: Sequence[int], seed: int = 0, **sampling: Any) -> Observation:
        request = TurnRequest(tuple(prompt), Sampling(**sampling), seed)
        return asyncio.run(backend.generate(arm, request))

    return answer


@dataclass
class StandInModel:
    """What the engine asks of a loaded model; a token's text is its id in brackets."""

    vocabulary: int = 100
    context_limit: int = 1000
    eos_ids: frozenset[int] = frozenset()
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    def decode(self, tokens: Sequence[int]) -> str:
        return "".join(f"[{token}]" for token in tokens)


class StandInReader:
    """Reads like a model with a KV cache; `logits_after` says what follows a prefix."""

    def __init__(self, model: StandInModel, logits_after: Callable[[tuple[int, ...]], torch.Tensor]) -> None:
        self.model = model
        self.held: list[int] = []
        self.blocks: list[list[int]] = []
        """Every block that was read."""
        self._logits_after = logits_after

    @property
    def length(self) -> int:
        return len(self.held)

    def restart(self, capacity: int) -> None:
        self.held = []

    def extend(self, tokens: torch.Tensor, keep: int) -> torch.Tensor:
        block = tokens.tolist()
        self.blocks.append(block)
        rows = [self._logits_after((*self.held, *block[: count + 1])) for count in range(len(block))]
        self.held += block
        return torch.stack(rows[-keep:])

    def rollback(self, length: int) -> None:
        del self.held[length:]


class StandInDrafter:
    """Proposes what it was told for each step, in order, then nothing."""

    def __init__(self, *proposals: Sequence[int]) -> None:
        self._proposals = itertools.chain(proposals, itertools.repeat(()))
        self.rooms: list[int] = []
        self.ended = 0

    def begin(self, prompt: Sequence[int]) -> None:
        pass

    def propose(self, context: Sequence[int], room: int, chooser: Any) -> Draft:
        self.rooms.append(room)
        return Draft(torch.tensor(list(next(self._proposals))[:room], dtype=torch.int64))

    def rollback(self, length: int) -> None:
        pass

    def end(self) -> None:
        self.ended += 1


def follow(prompt: Sequence[int], script: Sequence[int], model: StandInModel) -> StandInReader:
    """A target that answers a prompt with the script, token by token, whatever else it reads."""
    plan = [*prompt, *script]

    def logits_after(prefix: tuple[int, ...]) -> torch.Tensor:
        row = torch.zeros(model.vocabulary)
        row[plan[len(prefix)] if len(prefix) < len(plan) else 0] = 1.0
        return row

    return StandInReader(model, logits_after)


class Play:
    """Plays one greedy turn of an engine whose target follows a script."""

    PROMPT = (91, 92, 93)

    def __call__(
        self,
        script: Sequence[int],
        *proposals: Sequence[int],
        draft_length: int = 5,
        model: StandInModel | None = None,
        drafter: Any = None,
        **sampling: Any,
    ) -> Observation:
        self.reader = follow(self.PROMPT, script, model or StandInModel())
        self.drafter = drafter or StandInDrafter(*proposals)
        request = TurnRequest(self.PROMPT, Sampling(**{"max_tokens": len(script)} | sampling), 0)
        return Engine(self.reader, HostClock()).answer(request, self.drafter, draft_length)


@pytest.fixture
def play() -> Play:
    return Play()


@pytest.fixture(scope="session")
def stand_ins() -> Any:
    """The stand-in classes, for tests that put them together themselves."""

    class Parts:
        Model, Reader, Drafter = StandInModel, StandInReader, StandInDrafter
        follow = staticmethod(follow)

    return Parts
