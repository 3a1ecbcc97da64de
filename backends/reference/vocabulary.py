"""Whether two models speak the same tokens, so that one can draft for the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def vocabulary_problem(target: Mapping[str, int], draft: Mapping[str, int], padding: frozenset[str]) -> str | None:
    """Return a clause that names the first token, by id, that differs between two vocabularies; null if none does.

    Args:
        target: token text to id, added tokens included.
        draft: the same, of the draft model.
        padding: padding tokens, which one side may have and the other lack. Rows that only pad a model's embedding
            are in no vocabulary, hence never differ.
    """
    of_target = {token_id: token for token, token_id in target.items()}
    of_draft = {token_id: token for token, token_id in draft.items()}
    for token_id in sorted(of_target.keys() | of_draft.keys()):
        ours, theirs = of_target.get(token_id), of_draft.get(token_id)
        if ours == theirs or (ours is None and theirs in padding) or (theirs is None and ours in padding):
            continue
        in_target, in_draft = _told(ours, draft, "draft"), _told(theirs, target, "target")
        return f"id {token_id} is {in_target} in the target and {in_draft} in the draft"
    return None


def _told(token: str | None, other: Mapping[str, int], owner: str) -> str:
    if token is None:
        return "no token"
    elsewhere = other.get(token)
    return f"{token!r} (id {elsewhere} in the {owner})" if elsewhere is not None else f"{token!r} (not in the {owner})"
