"""Keeps keys and tokens out of what is recorded and shown: values of environment variables that are named like one."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

SHORTEST = 8
"""Values below this many characters are no keys, and would blot out ordinary words."""
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|AUTH", re.IGNORECASE)
_HARMLESS = re.compile(r"TOKENIZERS_PARALLELISM")


def redacted(text: str, environment: Mapping[str, str] | None = None) -> str:
    """Return a text in which every value of a secret-looking environment variable is `[redacted]`."""
    variables = os.environ if environment is None else environment
    secrets = [
        value
        for name, value in variables.items()
        if _SECRET.search(name) and not _HARMLESS.search(name) and len(value) >= SHORTEST
    ]
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "[redacted]")
    return text
