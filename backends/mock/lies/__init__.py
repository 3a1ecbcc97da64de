"""Every way in which the mock server can mislead a client, by name."""

from __future__ import annotations

from draftmark.backends.mock.lies.accounting import ACCOUNTING
from draftmark.backends.mock.lies.content import CONTENT
from draftmark.backends.mock.lies.endings import ENDINGS
from draftmark.backends.mock.lies.lie import Lie, Refusal
from draftmark.backends.mock.lies.refusals import REFUSALS
from draftmark.backends.mock.lies.wire import WIRE

LIES: dict[str, Lie] = {lie.name: lie for lie in (*CONTENT, *WIRE, *ENDINGS, *REFUSALS, *ACCOUNTING)}

__all__ = ["LIES", "Lie", "Refusal"]
