"""What an engine prints may hold the keys it was given; what is recorded of it must not."""

from __future__ import annotations

import pytest

from draftmark.backends.last_words import last_words
from draftmark.backends.redaction import redacted


def test_values_of_secret_variables_are_blotted_out_longest_first() -> None:
    secrets = {"HF_TOKEN": "hf_abcdefgh", "API_KEY": "hf_abcdefgh12", "MY_PASSWORD": "correct horse"}
    text = "GET /x?t=hf_abcdefgh12 with hf_abcdefgh and correct horse in /srv/models"
    assert (
        redacted(text, secrets | {"HOME": "/srv/models"})
        == "GET /x?t=[redacted] with [redacted] and [redacted] in /srv/models"
    )


@pytest.mark.parametrize("environment", [{"TOKEN": "true"}, {"TOKENIZERS_PARALLELISM": "false false"}, {"KEY": ""}])
def test_short_values_and_known_harmless_ones_stay(environment: dict[str, str]) -> None:
    assert redacted("true false false", environment) == "true false false"


def test_last_words_hold_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_0123456789")
    assert last_words(["ValueError: bad token hf_0123456789"]) == "ValueError: bad token [redacted]"
