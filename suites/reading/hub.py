"""Data from the Hugging Face hub, and what each way of not getting it means in a sentence.

A gated dataset reaches callers as "file not found" or as a connection error, so the whole chain of causes is looked
through for what the hub really answered, and where that was dropped the hub is asked once more. No sentence quotes an
answer or a request, in which a token might stand.

Tried against a loopback hub only, not against huggingface.co.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from draftmark.suites.prompt import SuiteError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

INSTALL = 'pip install "draftmark[hub]"'

_NO_NETWORK = {"OfflineModeIsEnabled", "LocalEntryNotFoundError", "ConnectError", "ConnectTimeout", "ReadTimeout",
               "TimeoutException", "ConnectionError", "ConnectionRefusedError", "gaierror", "URLError"}  # fmt: skip


class HubError(SuiteError):
    """Data that the hub did not give."""


def load_rows(
    dataset: str, config: str | None, revision: str | None, columns: Sequence[str] | None = None, split: str = "test"
) -> Any:
    """Return a dataset's split as `datasets.Dataset`, with these columns alone where they are given.

    `revision` null is the hub's newest. Raises `HubError`.
    """
    library = _datasets()
    try:
        with _unlogged():
            rows = library.load_dataset(dataset, config, split=split, revision=revision)
        return rows if columns is None else rows.select_columns(list(columns))
    except Exception as fault:  # the library lets faults of many packages through
        raise HubError(sentence(_answer(dataset, revision) or fault, dataset, revision)) from fault


def json_table(path: Path) -> Any:
    """Return a JSON file as `datasets.Dataset`, with that library's own way of joining the fields of objects."""
    library = _datasets()
    try:
        return library.load_dataset("json", data_files={"test": str(path)}, split="test")
    except Exception as fault:  # as above
        raise HubError(f"{path} cannot be read as JSON rows ({type(fault).__name__}); delete it and fetch again") from (
            fault
        )


def download(dataset: str, name: str, revision: str) -> Path:
    """Fetch one file of a dataset into the hub library's own cache, going on where it stopped; return where it is."""
    from pathlib import Path

    try:
        from huggingface_hub import hf_hub_download
    except ImportError as fault:
        raise HubError(f"{dataset} comes from the Hugging Face hub; run: {INSTALL}") from fault
    try:
        with _unlogged():
            return Path(hf_hub_download(dataset, name, repo_type="dataset", revision=revision))
    except Exception as fault:  # as above
        raise HubError(sentence(fault, dataset, revision)) from fault


def stated_licence(dataset: str, revision: str | None) -> str | None:
    """Return the licence that the dataset's card states; null where it states none. Raises `HubError`."""
    try:
        from huggingface_hub import HfApi
    except ImportError as fault:
        raise HubError(f"{dataset} comes from the Hugging Face hub; run: {INSTALL}") from fault
    try:
        with _unlogged():
            card = HfApi().dataset_info(dataset, revision=revision).card_data
    except Exception as fault:  # as above
        raise HubError(sentence(fault, dataset, revision)) from fault
    named = getattr(card, "license_name", None) or getattr(card, "license", None)
    return ", ".join(named) if isinstance(named, list) else named


def sentence(fault: BaseException, dataset: str, revision: str | None = None) -> str:
    """Say what a fault of the hub's libraries means and what to do; quotes nothing of the answer but its status."""
    page = f"https://huggingface.co/datasets/{dataset}"
    names = {cause.__name__ for link in _chain(fault) for cause in type(link).__mro__}
    status = next((code for link in _chain(fault) if (code := _status(link)) is not None), None)
    if "GatedRepoError" in names:
        text = (
            f"the dataset {dataset} is gated: open {page} and accept the terms with your account, set HF_TOKEN to a "
            "token of that account, and run again; no other data was taken in its place"
        )
    elif "RevisionNotFoundError" in names:
        text = f"the dataset {dataset} has no revision {revision}; correct `revision`, or leave it out"
    elif status == HTTPStatus.UNAUTHORIZED and _sends_token():
        text = (
            f"the hub refused the token that HF_TOKEN or `hf auth login` holds when it was asked for {dataset} (401); "
            "renew the token, and check the dataset's name"
        )
    elif "RepositoryNotFoundError" in names:
        text = (
            f"there is no dataset {dataset} on the hub, or it is private ({status or 404}); check the name, and set "
            "HF_TOKEN if it is your own"
        )
    elif status == HTTPStatus.NOT_FOUND:
        text = f"the dataset {dataset} lacks a file that was asked for (404); check revision and split"
    elif status == HTTPStatus.TOO_MANY_REQUESTS:
        text = f"the hub allows no more requests for now (429) while {dataset} was fetched; wait, or set HF_TOKEN"
    elif status is not None:
        text = f"the hub answered {status} for {dataset}; try again later, or check {page}"
    elif names & _NO_NETWORK:
        text = (
            f"the hub could not be reached for {dataset}: no network, or HF_HUB_OFFLINE is set; connect this machine, "
            "or prepare the data elsewhere and give its folder as path"
        )
    else:
        text = f"{dataset} could not be read from the hub ({type(fault).__name__}); check {page}, split and revision"
    return text


def _answer(dataset: str, revision: str | None) -> Exception | None:
    """Ask the hub itself for a dataset that `datasets` did not load, since that library drops why; null if it may."""
    from huggingface_hub import HfApi

    try:
        with _unlogged():
            HfApi().auth_check(dataset, repo_type="dataset")
            HfApi().dataset_info(dataset, revision=revision)
    except Exception as fault:  # noqa: BLE001 - whatever it is, it is the answer
        return fault
    return None


@contextmanager
def _unlogged() -> Iterator[None]:
    """Keep what the hub's library writes about its retries off the terminal; what came of them is told by `sentence`.

    Handlers are taken away and not levels set, since a child's own level would overrule its parent's.
    """
    loggers = [logging.getLogger(name) for name in ("huggingface_hub", "datasets")]
    kept = [(logger, logger.propagate, logger.handlers) for logger in loggers]
    for logger in loggers:
        logger.handlers, logger.propagate = [logging.NullHandler()], False
    try:
        yield
    finally:
        for logger, propagate, handlers in kept:
            logger.handlers, logger.propagate = handlers, propagate


def _chain(fault: BaseException) -> Iterator[BaseException]:
    seen: list[int] = []
    link: BaseException | None = fault
    while link is not None and id(link) not in seen:
        seen.append(id(link))
        yield link
        link = link.__cause__ or link.__context__


def _status(fault: BaseException) -> int | None:
    code = getattr(getattr(fault, "response", None), "status_code", None)
    return code if isinstance(code, int) else None


def _sends_token() -> bool:
    from huggingface_hub import get_token

    return get_token() is not None


def _datasets() -> Any:
    try:
        import datasets
    except ImportError as fault:
        raise HubError(f"the Hugging Face hub is read with the package datasets; run: {INSTALL}") from fault
    datasets.disable_progress_bars()
    return datasets
