"""A run's cells sorted into comparison groups: what may stand side by side in one sentence, chart or table part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from draftmark.dashboards.wording import listed, squeezed
from draftmark.results.roles import is_baseline, speculates
from draftmark.results.standing import not_counted

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from draftmark.results.records import RunManifest
    from draftmark.results.summary import CellSummary, RunSummary

_ARM = 40
"""Characters of an arm's name in a sentence."""


@dataclass(frozen=True)
class Group:
    """Cells that differ in the arm alone. `label` is the suite and whatever tells it from the suite's other groups."""

    id: str
    cell_ids: frozenset[str]
    """Ids of all its cells, the control's among them."""
    suite: str
    label: str
    overall: tuple[CellSummary, ...]
    """One per arm over all turns, in the run's order; the control is not among them."""
    parts: tuple[CellSummary, ...]
    """The same arms by category."""
    lost: Mapping[str, str]
    """How engines were lost before their cells were finished: cell id to the engine's last words."""
    not_counted: Mapping[str, str]
    """Why the speed of some cells does not count: cell id to `changes the output` and the like."""

    @property
    def baseline(self) -> CellSummary | None:
        """The arm without speculation; null where the run has none."""
        return next((cell for cell in self.overall if is_baseline(cell)), None)

    @property
    def arms(self) -> tuple[CellSummary, ...]:
        """The speculating arms over all turns, those left out included."""
        return tuple(cell for cell in self.overall if speculates(cell))

    @property
    def categories(self) -> list[str]:
        """The categories in the run's order."""
        return list(dict.fromkeys(cell.category for cell in self.parts if cell.category is not None))


def _facts(cell: CellSummary, manifest: RunManifest) -> dict[str, str]:
    """Everything but suite and arm that a number of this cell depends on, in words."""
    facts = {"backend": cell.backend, "target": cell.target, "load": cell.load}
    facts |= {f"engine.{name}": f"{name} {value}" for name, value in cell.engine.items()}
    planned = next((record for record in manifest.cells if record.cell_id == cell.cell_id), None)
    if planned is not None:
        sampling = planned.key.sampling.model_dump(mode="json")
        facts |= {f"sampling.{name}": f"{name.replace('_', ' ')} {value}" for name, value in sampling.items()}
    return facts


def groups_of(summary: RunSummary) -> list[Group]:
    """Sort a run's cells into groups, in the run's order, each labelled so that no two labels mean the same.

    A label names the suite, and after it only what differs between the suite's groups (concurrency, backend, sampling).
    """
    cells: dict[str, list[CellSummary]] = {}
    ids: dict[str, set[str]] = {}
    for cell in summary.cells:
        ids.setdefault(cell.group, set()).add(cell.cell_id)
        if not cell.control:
            cells.setdefault(cell.group, []).append(cell)
    facts = {group: _facts(members[0], summary.manifest) for group, members in cells.items()}
    lost = {record.cell_id: record.lost for record in summary.manifest.cells if record.lost is not None}
    void = not_counted(summary)
    found = []
    for group, members in cells.items():
        suite = members[0].suite
        rivals = [facts[other] for other, theirs in cells.items() if theirs[0].suite == suite]
        telling = [text for name, text in facts[group].items() if any(rival.get(name) != text for rival in rivals)]
        found.append(
            Group(
                id=group,
                cell_ids=frozenset(ids[group]),
                suite=suite,
                label=", ".join([suite, *telling]),
                overall=tuple(cell for cell in members if cell.category is None),
                parts=tuple(cell for cell in members if cell.category is not None),
                lost={cell_id: words for cell_id, words in lost.items() if cell_id in ids[group]},
                not_counted={cell_id: reason for cell_id, reason in void.items() if cell_id in ids[group]},
            )
        )
    return found


def cell_names(summary: RunSummary) -> dict[str, str]:
    """Return what each cell is called away from its group: `ngram D=3 on coding, concurrency 4`."""
    labels = {group.id: group.label for group in groups_of(summary)}
    return {
        cell.cell_id: f"{cell.arm} on {labels.get(cell.group, cell.suite)}"
        for cell in summary.cells
        if cell.category is None
    }


def whereabouts(ids: Collection[str], summary: RunSummary, *, everywhere_at_all: bool = False) -> str:
    """Say in as few words as possible which cells are meant; empty for all of them.

    Cells that were left out count only where they are meant.

    Args:
        ids: Ids of the cells; none means all.
        summary: The run that they are of.
        everywhere_at_all: Say nothing either where each comparison group has at least one of them.
    """
    members: dict[str, list[CellSummary]] = {}
    for cell in summary.cells:
        if cell.category is None and (cell.status != "left out" or cell.cell_id in ids):
            members.setdefault(cell.group, []).append(cell)
    labels = {group.id: group.label for group in groups_of(summary)}
    hits = {group: tuple(c.arm for c in cells if c.cell_id in ids) for group, cells in members.items()}
    hits = {group: arms for group, arms in hits.items() if arms}
    whole = [group for group, arms in hits.items() if len(arms) == len(members[group])]
    everywhere = len(hits) == len(members)
    if not hits or (everywhere and everywhere_at_all) or len(whole) == len(members):
        return ""
    named = {group: labels.get(group, members[group][0].suite) for group in hits}
    if len(whole) == len(hits):
        return listed(list(named.values()))
    said = {group: _arms(arms, members[group]) for group, arms in hits.items()}
    if len(set(said.values())) == 1:
        arms = next(iter(said.values()))
        return arms if everywhere else f"{arms} on {listed(list(named.values()))}"
    return listed([named[group] if group in whole else f"{said[group]} on {named[group]}" for group in hits])


def _arms(arms: tuple[str, ...], members: list[CellSummary]) -> str:
    speculating = tuple(cell.arm for cell in members if speculates(cell))
    if len(arms) > 1 and arms == speculating:
        return "every speculating arm"
    return listed([squeezed(arm, _ARM) for arm in arms])
