"""What the hub's library writes about its retries stays off the terminal while the hub is asked."""

from __future__ import annotations

import logging

import pytest

from draftmark.suites.reading import hub

LOGGER = "huggingface_hub"


class Library:
    """Fails as a library does that found no network, after it wrote about a retry."""

    def load_dataset(self, *names: object, **settings: object) -> None:
        logging.getLogger(f"{LOGGER}.utils._http").warning("[Errno -2] Name or service not known")
        raise ConnectionError("no network")


def test_retries_are_not_shown_before_the_sentence_and_logging_is_put_back(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    logger, handler = logging.getLogger(LOGGER), logging.StreamHandler()
    logger.addHandler(handler)
    before = (logger.propagate, list(logger.handlers))
    monkeypatch.setattr(hub, "_datasets", Library)
    monkeypatch.setattr(hub, "_answer", lambda dataset, revision: None)
    try:
        with pytest.raises(hub.HubError, match="the hub could not be reached for owner/name"):
            hub.load_rows("owner/name", None, None)
        assert "Errno" not in caplog.text + capfd.readouterr().err
        assert (logger.propagate, logger.handlers) == before
        logging.getLogger(f"{LOGGER}.utils").warning("heard again")
        assert "heard again" in caplog.text + capfd.readouterr().err
    finally:
        logger.removeHandler(handler)
