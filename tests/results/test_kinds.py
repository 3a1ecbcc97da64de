"""A table of kinds: built-in ones first, then those that installed packages register, damaged ones included."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from pydantic import BaseModel

from draftmark.results.errors import DraftmarkError
from draftmark.results.kinds import KindTable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Install = Callable[..., None]


class ColourError(DraftmarkError):
    pass


COLOURS = KindTable(
    noun="colour",
    group="test_kinds.colours",
    base=BaseModel,
    error=ColourError,
    builtin={"red": "draftmark.results.records:Arm", "green": "draftmark.results.records:Sampling"},
)


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Put a distribution on the path that registers one colour, and the module `faulty_module` where it has one."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "faulty_module", raising=False)

    def lay(package: str, kind: str, value: str, source: str | None = None) -> None:
        info = tmp_path / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n", encoding="utf-8")
        (info / "entry_points.txt").write_text(f"[{COLOURS.group}]\n{kind} = {value}\n", encoding="utf-8")
        if source is not None:
            (tmp_path / "faulty_module.py").write_text(source, encoding="utf-8")

    return lay


def refusal(kind: str) -> str:
    with pytest.raises(ColourError) as told:
        COLOURS.resolve(kind)
    return str(told.value)


def test_a_kind_of_another_package_is_found_behind_the_built_in_ones(install: Install) -> None:
    install("paints", "blue", "draftmark.results.records:Sampling")
    assert COLOURS.names() == ["red", "green", "blue"]
    assert COLOURS.resolve("blue").__name__ == "Sampling"


def test_a_misspelt_kind_is_answered_with_the_nearest_of_any_package(install: Install) -> None:
    install("paints", "ultramarine", "draftmark.results.records:Sampling")
    assert refusal("ultramarin") == "unknown colour kind 'ultramarin'; did you mean 'ultramarine'?"
    assert refusal("x") == "unknown colour kind 'x'; known: red, green, ultramarine"


def test_a_module_that_is_not_there_is_named_with_its_package(install: Install) -> None:
    install("ghost", "ghostly", "no_such_module:Spec")
    assert refusal("ghostly") == (
        "colour kind 'ghostly' (no_such_module:Spec of package ghost) does not import: No module named 'no_such_module'"
    )


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("Other = 1\n", "AttributeError: module 'faulty_module' has no attribute 'Spec'"),
        ("1 / 0\n", "ZeroDivisionError: division by zero"),
        ("def (\n", "SyntaxError: invalid syntax"),
        ("import faulty_dependency\n", "No module named 'faulty_dependency'"),
    ],
)
def test_whatever_a_module_does_while_it_is_imported_becomes_one_sentence(
    install: Install, source: str, why: str
) -> None:
    install("faulty", "faulty", "faulty_module:Spec", source)
    said = refusal("faulty")
    assert said.startswith(f"colour kind 'faulty' (faulty_module:Spec of package faulty) does not import: {why}")
    assert "\n" not in said


def test_a_broken_package_spoils_neither_the_names_nor_other_kinds(install: Install) -> None:
    install("ghost", "ghostly", "no_such_module:Spec")
    assert COLOURS.names() == ["red", "green", "ghostly"]
    assert COLOURS.resolve("red").__name__ == "Arm"


def test_a_class_of_another_sort_is_refused(install: Install) -> None:
    install("odd", "odd", "collections:OrderedDict")
    assert refusal("odd") == (
        "colour kind 'odd' (collections:OrderedDict of package odd) is no BaseModel; its package must register a "
        "subclass under the entry point group 'test_kinds.colours'"
    )


def test_a_built_in_kind_stays_what_it_is_when_a_package_takes_its_name(install: Install) -> None:
    install("usurper", "red", "draftmark.results.records:Sampling")
    assert COLOURS.names() == ["red", "green"]
    assert COLOURS.resolve("red").__name__ == "Arm"


def test_a_kind_that_two_packages_claim_belongs_to_neither(install: Install) -> None:
    install("one", "twice", "first_module:Spec")
    install("two", "twice", "second_module:Spec")
    assert COLOURS.names() == ["red", "green", "twice"]
    assert refusal("twice") == (
        "colour kind 'twice' is claimed by more than one installed package (first_module:Spec of package one; "
        "second_module:Spec of package two); uninstall all but one of them"
    )
