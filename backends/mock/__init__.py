"""A server whose truth is known, and that can lie in every known way; it speaks the engines' protocols."""

from draftmark.backends.mock.lies import LIES
from draftmark.backends.mock.process import mock_process
from draftmark.backends.mock.settings import DIALECTS, MockSettings

__all__ = ["DIALECTS", "LIES", "MockServer", "MockSettings", "mock_process"]


def __getattr__(name: str) -> object:
    if name == "MockServer":  # brings the HTTP library, which callers of the rest need not have read
        from draftmark.backends.mock.server import MockServer

        return MockServer
    raise AttributeError(name)
