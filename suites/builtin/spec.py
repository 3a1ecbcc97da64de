"""The `builtin` entry of a plan, and the suites it can name."""

from __future__ import annotations

from importlib.resources import as_file, files
from typing import Annotated, Literal, get_args

from pydantic import BeforeValidator, Field, PositiveInt, model_validator

from draftmark.suites.builtin import long_sequence
from draftmark.suites.builtin.recipes import Entropy
from draftmark.suites.prompt import Prompt, PromptRenderer, Suite, SuiteError, SuiteSpec
from draftmark.suites.reading.json_lines import read_prompts
from draftmark.suites.subset import choose, describe

LICENCE = "Apache-2.0"
SOURCE = "written for Draftmark"

DEFAULT_PROMPT_TOKENS = 1000
ENTROPIES: tuple[Entropy, ...] = ("low", "mixed", "high")

ShippedName = Literal[
    "coding",
    "humanities",
    "math",
    "multilingual",
    "qa",
    "rag",
    "reasoning",
    "roleplay",
    "stem",
    "summarization",
    "writing",
]
"""Suites whose prompts are read from a file, one category each: the eleven of SPEED-Bench's qualitative split."""
ThroughputName = Literal["throughput-1k", "throughput-2k", "throughput-8k", "throughput-16k", "throughput-32k"]
"""The prompts of long-sequence at the lengths of SPEED-Bench's throughput splits."""
LENGTHS: dict[str, int] = {name: 1000 * int(name[11:-1]) for name in get_args(ThroughputName)}
"""Tokens of each prompt after the target's chat template."""
BuiltinName = Literal[ShippedName, "qualitative", "long-sequence", ThroughputName]
"""`qualitative` is all eleven shipped categories in one suite, as SPEED-Bench's split of that name."""
SHIPPED: tuple[ShippedName, ...] = get_args(ShippedName)
WHOLE: Literal["qualitative"] = "qualitative"


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


class BuiltinSpec(SuiteSpec):
    """A suite that ships with Draftmark."""

    kind: Literal["builtin"] = "builtin"
    name: BuiltinName
    prompt_tokens: PositiveInt | None = None
    """Long-sequence only: tokens of each prompt after the chat template; null is 1,000."""
    entropy: Annotated[list[Entropy], BeforeValidator(_as_list), Field(min_length=1)] | None = None
    """Long-sequence and throughput only: which of low, mixed and high; null is all three."""

    @model_validator(mode="after")
    def _settings_fit_the_name(self) -> BuiltinSpec:
        if self.prompt_tokens is not None and self.name in LENGTHS:
            raise ValueError(
                f"prompt_tokens belongs to the builtin suite long-sequence; {self.name} has {LENGTHS[self.name]:,}"
            )
        if self.name in (*SHIPPED, WHOLE):
            if self.prompt_tokens is not None:
                raise ValueError(f"prompt_tokens belongs to the builtin suite long-sequence, not to {self.name}")
            if self.entropy is not None:
                built = ", ".join(("long-sequence", *LENGTHS))
                raise ValueError(f"entropy belongs to the builtin suites {built}, not to {self.name}")
        if self.entropy is not None and len(set(self.entropy)) < len(self.entropy):
            raise ValueError("entropy names a level twice")
        return self

    def load(self, renderer: PromptRenderer | None) -> Suite:
        """Read or build the suite; those of an exact length need the renderer, and raise `SuiteError` without one."""
        if self.name == "long-sequence" or self.name in LENGTHS:
            prompts, selection = long_sequence.build(
                renderer,
                name=self.name,
                prompt_tokens=LENGTHS.get(self.name) or self.prompt_tokens or DEFAULT_PROMPT_TOKENS,
                entropies=self.entropy or ENTROPIES,
                limit=self.limit,
                seed=self.subset_seed,
            )
        elif self.name == WHOLE:
            prompts, selection = _all_shipped(self.limit, self.subset_seed)
        else:
            prompts, selection = _read_shipped(self.name, self.limit, self.subset_seed)
        return Suite(name=self._suite_name(), prompts=prompts, licence=LICENCE, source=SOURCE, selection=selection)

    def _suite_name(self) -> str:
        """Return the plan's name, with length and levels added where they are not the usual ones."""
        words: list[str] = [self.name]
        if self.prompt_tokens not in (None, DEFAULT_PROMPT_TOKENS):
            words.append(str(self.prompt_tokens))
        if self.entropy is not None and set(self.entropy) != set(ENTROPIES):
            words += [level for level in ENTROPIES if level in self.entropy]
        return "-".join(words)


def _all_shipped(limit: int | None, seed: int) -> tuple[tuple[Prompt, ...], str]:
    whole = [prompt for name in SHIPPED for prompt in _read_shipped(name, None, seed)[0]]
    chosen = choose(whole, limit, seed)
    return tuple(whole[index] for index in chosen), describe(len(chosen), len(whole), seed)


def _read_shipped(name: BuiltinName, limit: int | None, seed: int) -> tuple[tuple[Prompt, ...], str]:
    try:
        with as_file(files("draftmark.suites.builtin") / f"{name}.jsonl") as path:
            return read_prompts(path, limit=limit, seed=seed)
    except FileNotFoundError as fault:
        raise SuiteError(
            f"builtin/{name} did not come with this installation ({fault}); install Draftmark anew"
        ) from fault
