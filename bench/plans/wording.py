"""What pydantic finds wrong with a plan, in sentences that say what to write instead."""

from __future__ import annotations

import difflib
import json
from typing import TYPE_CHECKING, Any

from draftmark.bench.plans.document import Place, Problem, dotted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic import BaseModel, ValidationError
    from pydantic_core import ErrorDetails

_WANTED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "string_type": "text",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a mapping of keys to values",
    "model_type": "a mapping of keys to values",
    "model_attributes_type": "a mapping of keys to values",
}
_BOUNDS = {
    "greater_than": ("above", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("below", "lt"),
    "less_than_equal": ("at most", "le"),
}
_WORDS = {"missing": "is missing", "too_short": "must not be empty", "string_too_short": "must not be empty"}
_NUMBER_WANTED = {"a whole number", "a number"}


def problems_of(fault: ValidationError, place: Place, known: Mapping[Place, Iterable[str]]) -> list[Problem]:
    """Return one problem per error, each at its place in the plan.

    `place` is where the validated value stands; `known` maps places to the keys allowed there, for suggestions.
    """
    errors = fault.errors(include_url=False)
    return [Problem((*place, *error["loc"]), _text(error, (*place, *error["loc"]), known)) for error in errors]


def unknown_key(place: Place, known: Mapping[Place, Iterable[str]]) -> str:
    """Return the sentence for a key that does not exist, with the key that was probably meant, also at other levels."""
    key, around = str(place[-1]), place[:-1]
    here = sorted(known.get(around, ()))
    near = difflib.get_close_matches(key, here, n=1)
    if near:
        return f"unknown key; did you mean {near[0]!r}?"
    elsewhere = {name: dotted((*level, name)) for level, names in known.items() for name in names if level != around}
    near = difflib.get_close_matches(key, elsewhere, n=1)
    if near:
        return f"unknown key; did you mean {elsewhere[near[0]]!r}?"
    return f"unknown key; known here: {', '.join(here)}" if here else "unknown key"


def keys_of(model: type[BaseModel]) -> list[str]:
    """Return the keys that a mapping of this model may have."""
    return [field.alias or name for name, field in model.model_fields.items()]


def _text(error: ErrorDetails, place: Place, known: Mapping[Place, Iterable[str]]) -> str:
    kind, value, context = error["type"], error.get("input"), error.get("ctx", {})
    text = f"{error['msg'][:1].lower()}{error['msg'][1:]}, not {described(value)}"
    if kind == "extra_forbidden":
        text = unknown_key(place, known)
    elif kind in _WANTED:
        text = f"must be {_WANTED[kind]}, not {described(value)}{_advice(_WANTED[kind], value)}"
    elif kind in _BOUNDS:
        words, key = _BOUNDS[kind]
        text = f"must be {words} {context[key]}, not {described(value)}"
    elif kind == "finite_number":
        text = f"must be a finite number, not {described(value)}"
    elif kind == "literal_error":
        text = f"must be {context['expected']}, not {described(value)}"
    elif kind == "value_error":
        text = str(context.get("error", error["msg"]))
    return _WORDS.get(kind, text)


def described(value: Any) -> str:
    """Return a value as a reader of YAML knows it: the text "256", the number 1.5, a list, nothing."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        shown = json.dumps(value if len(value) <= 40 else value[:37] + "...", ensure_ascii=False)
        return f"the text {shown}"
    if isinstance(value, int | float):
        return f"the number {value}"
    return "a list" if isinstance(value, list) else "a mapping"


def _advice(wanted: str, value: Any) -> str:
    if wanted in _NUMBER_WANTED and isinstance(value, str):
        try:
            float(value)
        except ValueError:
            return ""
        return "; take the quotes away"
    if wanted == "text" and value is not None and not isinstance(value, list | dict):
        return "; put it in quotes"
    return ""
