"""Keeps keys and tokens out of what is recorded and shown: values of environment variables that are named like one."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

SHORTEST = 8
"""Values below this many characters are no keys, and would blot out ordinary words."""
_SECRET = re.compile(
    r"(?:^|[_-])(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|AUTH|AUTHORIZATION|COOKIE|APIKEY)(?:[_-]|$)",
    re.IGNORECASE,
)


def named_like_a_secret(name: str) -> bool:
    """Say whether a variable, header or key has the name of a secret: API_KEY, Authorization, x-api-key."""
    return _SECRET.search(name) is not None


def redacted(text: str, environment: Mapping[str, str] | None = None) -> str:
    """Return a text in which every value of a secret-looking environment variable is `[redacted]`."""
    variables = os.environ if environment is None else environment
    secrets = [value for name, value in variables.items() if _SECRET.search(name) and len(value) >= SHORTEST]
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "[redacted]")
    return text


def secret_keys(value: object, place: str = "") -> list[str]:
    """Return the places of keys that are named like a secret, in plain data of any depth."""
    if isinstance(value, dict):
        here = [(f"{place}.{key}".removeprefix("."), key, inner) for key, inner in value.items()]
        own = [name for name, key, inner in here if isinstance(inner, str) and _SECRET.search(str(key))]
        return own + [found for name, _, inner in here for found in secret_keys(inner, name)]
    if isinstance(value, list):
        return [found for index, inner in enumerate(value) for found in secret_keys(inner, f"{place}[{index}]")]
    return []
