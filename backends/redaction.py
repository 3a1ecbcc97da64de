"""Keeps keys and tokens out of what is recorded and shown: values of environment variables that are named like one."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SHORTEST = 8
"""Values below this many characters are no keys, and would blot out ordinary words."""
_SECRET = re.compile(
    r"(?:^|[_-])(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|AUTH|AUTHORIZATION|COOKIE|APIKEY)(?:[_-]|$)",
    re.IGNORECASE,
)


_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_FORMS = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"(?:sk|pk|rk|nvapi|glpat|xox[abprs])-[A-Za-z0-9_-]{8,}"
    r"|(?:sk|pk|rk|hf|gsk|gh[opsur]|github_pat)_[A-Za-z0-9_]{8,}"
    r"|A(?:KI|SI)A[A-Z0-9]{12,}|AIza[A-Za-z0-9_-]{20,}"
    r"|eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]+"  # a JSON web token: "eyJ" is how {" begins in base64
    r")"
)
"""How keys of well-known services begin."""
_SCHEME = re.compile(r"\b(?:bearer|basic)\s+\S{8,}", re.IGNORECASE)
_RUN = re.compile(r"[A-Za-z0-9]{20,}")
_UUID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.IGNORECASE)


def named_like_a_secret(name: str) -> bool:
    """Say whether a variable, header or key has the name of a secret: API_KEY, Authorization, x-api-key, apiToken."""
    return _SECRET.search(_HUMP.sub("_", name)) is not None


def known_key(text: str) -> bool:
    """Say whether a text holds a key in the form of a well-known service, a JSON web token or an HTTP credential."""
    return _FORMS.search(text) is not None or _SCHEME.search(text) is not None


def looks_like_a_key(text: str) -> bool:
    """Say whether a text holds what may be a key: a known form, a UUID, or 20 letters and digits that are no word."""
    mixed = any(re.search(r"\d", run) and re.search(r"[A-Za-z]", run) for run in _RUN.findall(text))
    return mixed or known_key(text) or _UUID.search(text) is not None


def without(text: str, secrets: Iterable[str], *, shortest: int = 1) -> str:
    """Return a text in which given values are `[redacted]`, as they are and as JSON or a URL would write them.

    Args:
        text: Anything.
        secrets: The values.
        shortest: Values below this many characters stay.
    """
    forms = {form for secret in secrets if len(secret) >= shortest for form in _written(secret)}
    for form in sorted(forms, key=len, reverse=True):
        text = text.replace(form, "[redacted]")
    return text


def _written(secret: str) -> list[str]:
    """Return the ways in which a value is written; percent signs may be followed by small letters too."""
    percent = [quote(secret, safe=""), quote(secret), quote_plus(secret)]
    small = [re.sub(r"%[0-9A-F]{2}", lambda it: it[0].lower(), form) for form in percent]
    json_forms = [json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]]
    escaped = [form.replace("/", "\\/") for form in json_forms]
    return [secret, *json_forms, *escaped, *percent, *small]


def plain_text(text: str, secrets: Iterable[str] = ()) -> str:
    """Return a server's text as it can be stored: without given values, and halves of surrogate pairs put together.

    A half without its other one becomes U+FFFD. Values below `SHORTEST` characters stay, as they may be words.
    """
    text = without(text, secrets, shortest=SHORTEST)
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


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
        own = [name for name, key, inner in here if isinstance(inner, str) and named_like_a_secret(str(key))]
        return own + [found for name, _, inner in here for found in secret_keys(inner, name)]
    if isinstance(value, list):
        return [found for index, inner in enumerate(value) for found in secret_keys(inner, f"{place}[{index}]")]
    return []
