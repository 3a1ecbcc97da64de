"""Plan files as plain data with line numbers: strict YAML 1.2 in which nothing is read as something else in silence.

`no` is text, `010` is ten; a key that is there twice is a problem, and so are aliases, tags, directives and numbers
that are not finite. Every problem is kept with its line, so that one look at the message mends the whole file.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from draftmark.results.errors import DraftmarkError
from draftmark.results.harmless import harmless

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ruamel.yaml.constructor import SafeConstructor

Place = tuple[str | int, ...]
"""Keys and indices that lead to a value."""

MOST_BYTES = 1_000_000
_LARGEST_WHOLE = 2**63 - 1
_TAG = "tag:yaml.org,2002:"
_DIRECTIVE = re.compile(r"^%", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong: what, at which key, and on which line where there is a file."""

    place: Place
    text: str
    line: int | None = None


class PlanError(DraftmarkError):
    """A plan that cannot be run as it is; the text names every problem with its line and key (exit 2)."""

    def __init__(self, name: str, problems: Sequence[Problem]) -> None:
        self.problems = list(problems)
        count = "a problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
        lines = [f"{name} has {count}:", *(f"  {_sentence(name, problem)}" for problem in self.problems)]
        super().__init__("\n".join(lines))


@dataclass
class Document:
    """A file's value as plain dicts, lists and scalars, the line of every place in it, and what is wrong with it."""

    value: Any = None
    lines: dict[Place, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def line(self, place: Place) -> int | None:
        """Return the line of a place, or of the nearest place around it that the file has."""
        while place not in self.lines and place:
            place = place[:-1]
        return self.lines.get(place)


def read_document(path: Path) -> Document:
    """Read a YAML file; problems inside it are kept in the document.

    Raises `PlanError` for a file that cannot be read as text at all.
    """
    try:
        with path.open("rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise PlanError(str(path), [Problem((), "there is no such file")]) from None
    except IsADirectoryError:
        raise PlanError(str(path), [Problem((), "this is a folder; name the plan file in it")]) from None
    except (OSError, ValueError) as fault:
        raise PlanError(str(path), [Problem((), f"cannot be read: {fault}")]) from fault
    if len(data) > MOST_BYTES:
        raise PlanError(str(path), [Problem((), f"has more than {MOST_BYTES:,} bytes, so it is no plan")])
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        line = data[: fault.start].count(b"\n") + 1
        raise PlanError(str(path), [Problem((), "is not UTF-8 text; save it as UTF-8", line)]) from fault
    return parse_document(text)


def parse_document(text: str) -> Document:
    """Return a YAML text as plain data, with what is wrong with it."""
    document = Document()
    directive = _DIRECTIVE.search(text)
    if directive:
        line = text[: directive.start()].count("\n") + 1
        document.problems.append(Problem((), "YAML directives (%...) are not allowed in a plan", line))
        return document
    reader = YAML(typ="safe", pure=True)
    try:
        node = reader.compose(text)
    except MarkedYAMLError as fault:
        mark = fault.problem_mark or fault.context_mark
        words = " ".join(part for part in (fault.context, fault.problem) if part)
        document.problems.append(Problem((), f"is not valid YAML: {words}", mark.line + 1 if mark else None))
    except (YAMLError, ValueError) as fault:
        document.problems.append(Problem((), f"is not valid YAML: {' '.join(str(fault).split())}"))
    except RecursionError:
        document.problems.append(Problem((), "is nested too deeply"))
    else:
        if node is not None:
            document.value = _Walk(document, reader.constructor).value(node, ())
    return document


class _Walk:
    """Turns composed nodes into plain data; an alias shows as a node that was met before."""

    def __init__(self, document: Document, constructor: SafeConstructor) -> None:
        self.document = document
        self.constructor = constructor
        self.met: set[int] = set()

    def value(self, node: Node, place: Place) -> Any:
        if id(node) in self.met:  # its own mark is where the anchor is
            text = "aliases (*name) are not allowed in a plan; write the value out"
            self.document.problems.append(Problem(place, text, self.document.line(place)))
            return None
        self.document.lines.setdefault(place, node.start_mark.line + 1)
        self.met.add(id(node))
        if isinstance(node, MappingNode) and node.tag == _TAG + "map":
            return self._mapping(node, place)
        if isinstance(node, SequenceNode) and node.tag == _TAG + "seq":
            return [self.value(item, (*place, index)) for index, item in enumerate(node.value)]
        if isinstance(node, ScalarNode):
            return self._scalar(node, place)
        return self._problem(node, place, f"the tag {node.tag} is not allowed in a plan")

    def _mapping(self, node: MappingNode, place: Place) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = key_node.value
            if not isinstance(key_node, ScalarNode) or key_node.tag != _TAG + "str":
                shown = f" {key}" if isinstance(key, str) else ""
                self._problem(key_node, place, f"the key{shown} is not text; put it in quotes")
                continue
            here = (*place, key)
            if key in found:
                first = self.document.lines[here]
                self._problem(key_node, here, f"this key is there twice (first on line {first}); remove one")
                continue
            self.document.lines[here] = key_node.start_mark.line + 1
            found[key] = self.value(value_node, here)
        return found

    def _scalar(self, node: ScalarNode, place: Place) -> Any:
        kind = str(node.tag).removeprefix(_TAG)
        if kind in {"int", "float"}:
            return self._number(node, place, kind)
        if kind in {"timestamp", "value", "merge"}:
            return self._problem(node, place, f"{node.value} would be read as a {kind}; put it in quotes")
        if kind == "str" and any("\ud800" <= character <= "\udfff" for character in node.value):
            return self._problem(node, place, "holds half of a surrogate pair, which is no character")
        plain = {"null": None, "bool": node.value.lower() == "true", "str": node.value}
        return plain[kind] if kind in plain else self._problem(node, place, f"the tag {node.tag} is not allowed")

    def _number(self, node: ScalarNode, place: Place, kind: str) -> Any:
        try:
            number = getattr(self.constructor, f"construct_yaml_{kind}")(node)
        except ValueError:
            return self._problem(node, place, f"{_short(node.value)} cannot be read as a number")
        if isinstance(number, float) and not math.isfinite(number):
            return self._problem(node, place, f"{_short(node.value)} is not a finite number")
        if isinstance(number, int) and abs(number) > _LARGEST_WHOLE:
            return self._problem(node, place, f"{_short(node.value)} is too large; at most {_LARGEST_WHOLE}")
        return number

    def _problem(self, node: Node, place: Place, text: str) -> None:
        self.document.problems.append(Problem(place, text, node.start_mark.line + 1))


def dotted(place: Place) -> str:
    """Return a place as a reader writes it: `drafters[1].draft_length`."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{harmless(part)}" for part in place)
    return "".join(parts).removeprefix(".")


def _sentence(name: str, problem: Problem) -> str:
    where = name if problem.line is None else f"{name}:{problem.line}"
    return ": ".join(part for part in (where, dotted(problem.place), problem.text) if part)


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."
