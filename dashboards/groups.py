"""A run's cells sorted into comparison groups: what may stand side by side in one sentence, chart or table part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from draftmark.dashboards.wording import listed

if TYPE_CHECKING:
    from collections.abc import Collection

    from draftmark.results.records import RunManifest
    from draftmark.results.summary import CellSummary, RunSummary


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

    @property
    def baseline(self) -> CellSummary | None:
        """The arm without speculation; null where the run has none."""
        return next((cell for cell in self.overall if cell.drafter == "none"), None)

    @property
    def arms(self) -> tuple[CellSummary, ...]:
        """The speculating arms over all turns, those left out included."""
        return tuple(cell for cell in self.overall if cell.drafter != "none")

    @property
    def categories(self) -> list[str]:
        """The categories in the run's order."""
        return list(dict.fromkeys(cell.category for cell in self.parts if cell.category is not None))


def _facts(cell: CellSummary, manifest: RunManifest) -> dict[str, str]:
    """Everything but suite and arm that a number of this cell depends on, in words."""
    facts = {"backend": cell.backend, "target": cell.target, "concurrency": f"concurrency {cell.concurrency}"}
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
            )
        )
    return found
