"""Names of arms that no reader can mix up: options appear in a label exactly where they tell two arms apart."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from draftmark.results.paths import is_local_path, path_ends

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from draftmark.results.records import Arm

_LONGEST_VALUE = 40


def arm_labels(arms: Iterable[Arm]) -> list[str]:
    """Return one label per arm, in order; equal arms get equal labels, different ones different labels.

    `ngram D=3` alone stays so; beside another `ngram D=3` it becomes `ngram D=3 (max_match=3)`, naming the options in
    which arms of that label differ, and of local paths their ends. Where shortened values still look alike, a number
    tells them apart.
    """
    arms = list(arms)
    distinct: dict[str, Arm] = {_identity(arm): arm for arm in arms}
    rivals: dict[str, list[Arm]] = {}
    for arm in distinct.values():
        rivals.setdefault(arm.label, []).append(arm)
    labels: dict[str, str] = {}
    for identity, arm in distinct.items():
        label = _with_options(arm, rivals[arm.label])
        taken = set(labels.values())
        numbered = (f"{label} #{number}" for number in range(2, len(distinct) + 2))
        labels[identity] = label if label not in taken else next(name for name in numbered if name not in taken)
    return [labels[_identity(arm)] for arm in arms]


def _with_options(arm: Arm, rivals: list[Arm]) -> str:
    names = dict.fromkeys(name for rival in rivals for name in rival.options)
    telling = [name for name in names if len({_text(rival.options.get(name)) for rival in rivals}) > 1]
    if not telling:
        return arm.label
    values = [value for rival in rivals for value in rival.options.values() if isinstance(value, str)]
    ends = path_ends(value for value in values if is_local_path(value))
    return f"{arm.label} ({', '.join(f'{name}={_shown(arm.options.get(name), ends)}' for name in telling)})"


def _identity(arm: Arm) -> str:
    return _text(arm.model_dump(mode="json"))


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _shown(value: Any, ends: Mapping[str, str]) -> str:
    text = ends.get(value, value) if isinstance(value, str) else _text(value)
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"
