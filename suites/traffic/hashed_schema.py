"""A JSON Schema without its words: only what is known to be no word of anybody's stays.

Kept: names of properties and definitions (parameters are such), known types and formats, references within the schema,
numbers, true, false and null. Left out: `pattern` and `patternProperties`, since an expression holds words and cannot
be replaced by one that matches what stands in their place. Every other text is replaced, and so are keywords that JSON
Schema does not have, with all that is under them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from draftmark.suites.traffic.hashed_text import Hasher

LONGEST_NAME = 64
"""Characters of a name that the API takes."""

_TYPES = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
_FORMATS = frozenset(
    {"date-time", "date", "time", "duration", "email", "idn-email", "hostname", "idn-hostname", "ipv4", "ipv6", "uri"}
    | {"uri-reference", "iri", "iri-reference", "uuid", "uri-template", "json-pointer", "relative-json-pointer"}
    | {"regex", "int32", "int64", "float", "double", "byte", "binary", "password"}
)
_ENCODINGS = frozenset({"7bit", "8bit", "binary", "quoted-printable", "base16", "base32", "base64", "base64url"})
_DIALECT = re.compile(r"https?://json-schema\.org/(?:schema#?|draft(?:/|-)[\d-]+/schema#?)")

_KNOWN_VALUES = {"type": _TYPES, "format": _FORMATS, "contentEncoding": _ENCODINGS}
_LEFT_OUT = frozenset({"pattern", "patternProperties"})
_SCHEMAS = frozenset(
    {"items", "additionalItems", "prefixItems", "contains", "additionalProperties", "propertyNames", "not", "if"}
    | {"then", "else", "allOf", "anyOf", "oneOf", "unevaluatedItems", "unevaluatedProperties", "contentSchema"}
)
_BY_NAME = frozenset({"properties", "$defs", "definitions", "dependentSchemas", "dependentRequired", "dependencies"})
"""Keys of a schema that hold schemas, or names of properties, by names."""
_VALUES = frozenset({"enum", "const", "default", "examples", "example"})
_OTHERS = frozenset(
    {"title", "description", "contentMediaType", "$schema", "$id", "$ref", "$anchor", "$dynamicRef", "$dynamicAnchor"}
    | {"$comment", "$vocabulary", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
    | {"minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "minContains", "maxContains"}
    | {"minProperties", "maxProperties", "required", "deprecated", "readOnly", "writeOnly", "nullable", "strict"}
)


def hashed_schema(schema: Any, hasher: Hasher, kept: frozenset[str]) -> Any:
    """Return a JSON Schema without its words; `kept` are the keys that values in it keep."""
    if isinstance(schema, list):
        return [hashed_schema(inner, hasher, kept) for inner in schema]
    if not isinstance(schema, dict):
        return hashed_value(schema, hasher, kept)
    found: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _LEFT_OUT:
            continue
        if key in _KNOWN_VALUES:
            found[key] = _known(value, _KNOWN_VALUES[key], hasher, kept)
        elif key in _BY_NAME and isinstance(value, dict):
            found[key] = {name: _by_name(inner, hasher, kept) for name, inner in value.items()}
        elif key in _SCHEMAS:
            found[key] = hashed_schema(value, hasher, kept)
        elif key == "required":
            found[key] = _names(value) or hashed_value(value, hasher, kept)
        elif _means_itself(key, value):
            found[key] = value
        elif key in _VALUES | _OTHERS:
            found[key] = hashed_value(value, hasher, kept)
        else:
            found |= hashed_value({key: value}, hasher, kept)
    return found


def names_in(schema: Any) -> set[str]:
    """Return the names of properties, and of definitions, that hashing a schema leaves readable."""
    if isinstance(schema, list):
        return {name for inner in schema for name in names_in(inner)}
    if not isinstance(schema, dict):
        return set()
    found = set(_names(schema.get("required")) or ())
    for key in _BY_NAME & schema.keys():
        if isinstance(schema[key], dict):
            found |= set(schema[key])
            found |= {name for inner in schema[key].values() for name in _names(inner) or names_in(inner)}
    for key in _SCHEMAS & schema.keys():
        found |= names_in(schema[key])
    return found


def hashed_value(value: Any, hasher: Hasher, kept: frozenset[str]) -> Any:
    """Return what is JSON without its words: texts and keys are replaced, but for keys in `kept`; numbers stay."""
    if isinstance(value, str):
        return hasher.text(value)
    if isinstance(value, list):
        return _each_once(value, [hashed_value(inner, hasher, kept) for inner in value])
    if isinstance(value, dict):
        keys = hashed_keys(value, hasher, kept)
        return dict(zip(keys, (hashed_value(inner, hasher, kept) for inner in value.values()), strict=True))
    return value


def hashed_keys(keys: Iterable[str], hasher: Hasher, kept: frozenset[str]) -> list[str]:
    """Return an object's keys without their words, but for those in `kept`; different ones stay different."""
    before = list(keys)
    taken = {key for key in before if key in kept}
    found = []
    for key in before:
        now = key if key in kept else hasher.text(key)
        while key not in kept and now in taken:
            now += "x"
        taken.add(now)
        found.append(now)
    return found


def hashed_name(name: str, hasher: Hasher) -> str:
    """Return another name of letters, digits, `_` and `-`, as the API wants names."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", hasher.text(name))[:LONGEST_NAME]


def _by_name(value: Any, hasher: Hasher, kept: frozenset[str]) -> Any:
    return _names(value) or hashed_schema(value, hasher, kept)


def _names(value: Any) -> list[str] | None:
    """Return a list of names of properties; null for anything else."""
    return value if isinstance(value, list) and all(isinstance(name, str) for name in value) else None


def _known(value: Any, known: frozenset[str], hasher: Hasher, kept: frozenset[str]) -> Any:
    if isinstance(value, list):
        return [_known(inner, known, hasher, kept) for inner in value]
    return value if isinstance(value, str) and value in known else hashed_value(value, hasher, kept)


def _means_itself(key: str, value: Any) -> bool:
    """Say whether a text refers within the schema, or says which JSON Schema it is."""
    if not isinstance(value, str):
        return False
    return (key == "$ref" and (value == "#" or value.startswith("#/"))) or (
        key == "$schema" and _DIALECT.fullmatch(value) is not None
    )


def _each_once(before: Sequence[Any], after: Sequence[Any]) -> list[Any]:
    """Keep texts apart that were, as values of an `enum` must be: short ones, of which there are too few, grow."""
    known: dict[str, str] = {}
    taken: set[str] = set()
    for was, now in zip(before, after, strict=True):
        if isinstance(was, str) and was not in known:
            other: str = now
            while other in taken:
                other += "x"
            taken.add(other)
            known[was] = other
    return [known[was] if isinstance(was, str) else now for was, now in zip(before, after, strict=True)]
