"""What an engine prints may hold the keys it was given; what is recorded of it must not."""

from __future__ import annotations

import pytest

from draftmark.backends.last_words import last_words
from draftmark.backends.redaction import plain_text, redacted, secret_keys, without


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


def test_given_values_go_longest_first_and_in_every_way_they_are_written() -> None:
    assert without("a b%20c b c b+c", ["b c"]) == "a [redacted] [redacted] [redacted]"
    assert without("abcd abc", ["abc", "abcd"]) == "[redacted] [redacted]"


def test_a_short_value_stays_in_a_plain_text() -> None:
    assert plain_text("EMPTY words", ["EMPTY"]) == "EMPTY words"
    assert plain_text("canary-1 sings", ["canary-1"]) == "[redacted] sings"


def test_keys_are_found_by_their_names_at_any_depth() -> None:
    data = {"num_key_value_heads": 4, "auth": {"password": "x"}, "list": [{"apiKey": "y"}], "monkey": "z"}
    assert secret_keys(data) == ["auth.password", "list[0].apiKey"]
