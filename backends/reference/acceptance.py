"""Which drafted tokens the target accepts, and which token comes after them. Pure functions of tensors.

Everything stays on the device: the caller reads the verdict in one transfer.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from draftmark.backends.reference.sampling import draw


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the target made of a block of k drafts: `tokens[:accepted]` are drafts, `tokens[accepted]` is its own."""

    tokens: torch.Tensor
    """[k + 1] int64; entries beyond `accepted` mean nothing."""
    accepted: torch.Tensor
    """0-dim int64, 0 to k."""

    def read(self) -> tuple[list[int], int]:
        """Copy to the host, once: the a + 1 tokens that follow the context, and a."""
        *tokens, accepted = torch.cat((self.tokens, self.accepted.reshape(1))).tolist()
        return tokens[: accepted + 1], accepted


def _leading(true: torch.Tensor) -> torch.Tensor:
    """Count the leading trues of a [k] bool tensor, as a 0-dim int64 tensor."""
    return true.long().cumprod(dim=0).sum()


def accept_greedy(logits: torch.Tensor, drafts: torch.Tensor) -> Verdict:
    """Accept drafts for as long as each is the target's likeliest token.

    Args:
        logits: [k + 1, vocabulary], the target's at the last context token and at each draft.
        drafts: [k] int64.
    """
    likeliest = logits.argmax(dim=-1)
    return Verdict(likeliest, _leading(likeliest[:-1] == drafts))


def accept_sampled(
    target: torch.Tensor, drafts: torch.Tensor, proposal: torch.Tensor | None, generator: torch.Generator
) -> Verdict:
    """Speculative sampling: the tokens are distributed exactly as if drawn from the target one by one.

    Draft x_i, drawn from q_i, is accepted with probability min(1, p_i(x_i) / q_i(x_i)). At the first rejection the
    token is drawn from max(p_i - q_i, 0), renormalised; after k acceptances from p_k+1 (Leviathan et al. 2023,
    arXiv:2211.17192, algorithm 1).

    Args:
        target: p, [k + 1, vocabulary] probabilities.
        drafts: x, [k] int64.
        proposal: q, [k, at most vocabulary], the distributions the drafts were really drawn from, zero beyond their
            width; None if each draft was certain (q is 1 at the draft).
        generator: on the tensors' device.
    """
    count = drafts.shape[0]
    rows = torch.arange(count, device=target.device)
    q = torch.zeros_like(target)  # row k stays zero: with nothing proposed the residual is p itself
    if proposal is None:
        q[rows, drafts] = 1.0
    else:
        q[:count, : proposal.shape[1]] = proposal
    chance = torch.rand(count, generator=generator, device=target.device)
    accepted = _leading(chance * q[rows, drafts] < target[rows, drafts])
    p_row, q_row = (part.index_select(0, accepted.reshape(1))[0] for part in (target, q))
    residual = (p_row - q_row).clamp(min=0)
    # p = q up to rounding leaves nothing: then p itself is as close as the arithmetic allows.
    own = draw(torch.where(residual.sum() > 0, residual, p_row), generator)
    places = torch.arange(count + 1, device=target.device)
    tokens = torch.where(places == accepted, own, torch.nn.functional.pad(drafts, (0, 1)))
    return Verdict(tokens, accepted)
