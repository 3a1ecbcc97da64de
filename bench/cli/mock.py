"""`draftmark mock`: a server of known truth, which speaks an engine's protocol and lies on request."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import typer

from draftmark.bench.running.interruption import EXIT_INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Callable

app = typer.Typer(add_completion=False)

Number = TypeVar("Number", int, float)


@app.command()
def mock(  # noqa: PLR0917 - one parameter an option
    port: int = typer.Option(0, help="On 127.0.0.1; 0 for a free one."),
    dialect: str = typer.Option("vllm", help="openai, vllm, sglang, trtllm or llamacpp."),
    ttft: float = typer.Option(0.1, help="Time to the first token, seconds."),
    step: float = typer.Option(0.025, help="Time of an engine step, seconds."),
    draft_length: int | None = typer.Option(None, help="D, most tokens drafted in a step; none means no speculation."),
    accept: str = typer.Option("", help="Share accepted at each position, as 0.7,0.5,0.3."),
    accepted_cycle: str = typer.Option("", help="Accepted tokens of one drafting step after the other, as 3,0,2."),
    no_draft_share: float = typer.Option(0.0, help="Share of steps without a draft."),
    tokens_per_chunk: int = typer.Option(1, help="Fewest tokens of a chunk, the first token apart."),
    output_tokens: int | None = typer.Option(None, help="Where answers end by themselves, tokens."),
    reasoning_tokens: int = typer.Option(0, help="Tokens at the start of a chat's answer that are thinking."),
    max_model_len: int = typer.Option(32768, help="Most tokens of prompt and answer together."),
    model: str = typer.Option("mock-model", help="The model's name."),
    per_request: str = typer.Option("detailed", help="Statistics per request: none, summary or detailed."),
    engines: int = typer.Option(1, help="Data-parallel engines with counters of their own."),
    loading: float = typer.Option(0.0, help="Seconds until the server is ready."),
    seed: int = typer.Option(0, help="Of the draws against --accept."),
    lie: list[str] = typer.Option([], help="A lie of every answer; may be given again. docs/mock.md lists them."),
    requests: int | None = typer.Option(None, min=1, help="End once so many requests were answered."),
) -> None:
    """Run a server of known truth, for tests of clients; it may lie.

    It listens on 127.0.0.1, says where, and runs until Ctrl-C. GET /truth says what really happened.
    """
    import uvloop

    from draftmark.backends.mock.process import serve
    from draftmark.backends.mock.settings import MockSettings

    rates, cycle = _numbers(accept, float, "--accept"), _numbers(accepted_cycle, int, "--accepted-cycle")
    settings = MockSettings(
        dialect=dialect,
        ttft_s=ttft,
        step_s=step,
        draft_length=max((len(rates), *cycle)) if draft_length is None else draft_length,
        accept=rates,
        accepted_cycle=cycle,
        no_draft_share=no_draft_share,
        tokens_per_chunk=tokens_per_chunk,
        output_tokens=output_tokens,
        reasoning_tokens=reasoning_tokens,
        max_model_len=max_model_len,
        model=model,
        per_request=per_request,  # type: ignore[arg-type]  # checked there
        engines=engines,
        loading_s=loading,
        lies=tuple(lie),
        seed=seed,
        port=port,
    )
    try:
        uvloop.run(serve(settings, requests))
    except KeyboardInterrupt:
        raise typer.Exit(EXIT_INTERRUPTED) from None


def _numbers(text: str, kind: Callable[[str], Number], option: str) -> tuple[Number, ...]:
    from draftmark.backends.base import BackendError

    try:
        return tuple(kind(part) for part in text.split(",") if part.strip())
    except ValueError:
        raise BackendError(f"{option} {text!r}: numbers parted by commas are wanted") from None
