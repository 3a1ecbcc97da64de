"""`kind: openai`: what a plan may say of a server, and that keys stay out of everything that is written."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from draftmark.backends.base import BackendError
from draftmark.backends.http.spec import OpenaiSpec
from draftmark.results.records import Arm

KEY = "canary-5c1e9b7a"
SERVER = {"base_url": "http://127.0.0.1:8000/v1", "model": "m"}


def test_headers_take_keys_from_the_environment_and_keep_the_name_alone() -> None:
    headers = {"Authorization": "Bearer ${TEAM_KEY}", "X-Team": "blue"}
    spec = OpenaiSpec.model_validate({**SERVER, "headers": headers})
    settings = spec.settings({"TEAM_KEY": KEY})
    assert settings.headers == {"Authorization": f"Bearer {KEY}", "X-Team": "blue"}
    assert settings.secrets == (KEY,)
    assert KEY not in str(spec.engine_settings())
    assert spec.engine_settings()["headers"] == headers


def test_the_key_variable_becomes_a_bearer_header() -> None:
    spec = OpenaiSpec.model_validate({**SERVER, "api_key_env": "DEMO_API_KEY"})
    assert spec.settings({"DEMO_API_KEY": KEY}).headers == {"Authorization": f"Bearer {KEY}"}


@pytest.mark.parametrize("name", ["Authorization", "x-api-key", "Cookie", "X-Auth-Token"])
def test_a_key_in_the_plan_is_refused_without_being_repeated(name: str) -> None:
    with pytest.raises(ValidationError) as raised:
        OpenaiSpec.model_validate({**SERVER, "headers": {name: f"Bearer {KEY}"}})
    (error,) = raised.value.errors(include_input=False, include_url=False)
    assert "environment variable" in error["msg"]
    assert KEY not in error["msg"]


@pytest.mark.parametrize(
    "url",
    [f"http://user:{KEY}@127.0.0.1:8000/v1", f"http://127.0.0.1:8000/v1?key={KEY}", f"http://{KEY}@127.0.0.1"],
)
def test_a_key_in_the_url_is_refused_without_being_repeated(url: str) -> None:
    with pytest.raises(ValidationError) as raised:
        OpenaiSpec.model_validate({**SERVER, "base_url": url})
    (error,) = raised.value.errors(include_input=False, include_url=False)
    assert "no user, password or query" in error["msg"]
    assert KEY not in error["msg"]


@pytest.mark.parametrize("url", ["127.0.0.1:8000", "ftp://127.0.0.1", "http://", "localhost"])
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(ValidationError, match="must be a URL"):
        OpenaiSpec.model_validate({**SERVER, "base_url": url})


def test_a_body_key_that_the_plan_sets_elsewhere_is_refused() -> None:
    with pytest.raises(ValidationError, match="max_tokens is set by the plan's own keys"):
        OpenaiSpec.model_validate({**SERVER, "extra_body": {"max_tokens": 3}})


def test_a_variable_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DEMO_API_KEY", raising=False)
    spec = OpenaiSpec.model_validate({**SERVER, "api_key_env": "DEMO_API_KEY"})
    sentence = spec.arm_problem(Arm(drafter="as-served", draft_length=0))
    assert sentence == "the environment variable DEMO_API_KEY is not set"
    with pytest.raises(BackendError, match="DEMO_API_KEY is not set"):
        spec.settings({})


def test_one_server_has_one_drafter() -> None:
    spec = OpenaiSpec.model_validate(SERVER)
    none = Arm(drafter="none", draft_length=0)
    control = none.model_copy(update={"control": True})
    assert spec.arms_problem([none, control]) is None
    assert "vllm-server" in (spec.arms_problem([none, Arm(drafter="ngram", draft_length=3)]) or "")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://127.0.0.1:99999", "has no valid host and port"),
        ("http://127.0.0.1:-1", "has no valid host and port"),
        ("http://127.0.0.1:eight", "has no valid host and port"),
        ("http://[::1", "has no valid host and port"),
        ("http://127.0.0.1:0", "has the port 0"),
        ("http://127.0.0.1:8000/a b", "holds spaces or characters"),
        (" http://127.0.0.1:8000", "holds spaces or characters"),
        ("http://127.0.0.1:8000\n", "holds spaces or characters"),
        ("http://127.0.0.1:8000/ü", "holds spaces or characters"),
        ("http://${HOST}:8000", "holds spaces or characters"),
        ("http://127.0.0.1:8000/sk-0123456789abcdef/v1", "looks like a key"),
    ],
)
def test_an_address_that_no_request_can_use_is_refused_at_once(url: str, said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        OpenaiSpec.model_validate({**SERVER, "base_url": url})


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:65535", "https://a-b.example/v1", "http://[::1]:8000/v1", "http://h/a%20b/~x/v1"]
)
def test_an_address_that_a_request_can_use_is_taken(url: str) -> None:
    assert OpenaiSpec.model_validate({**SERVER, "base_url": url}).base_url == url


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ({"a b": "x"}, "'a b' is no name of an HTTP header"),
        ({"": "x"}, "'' is no name of an HTTP header"),
        ({"X-A:": "x"}, "'X-A:' is no name of an HTTP header"),
        ({"X-A": "x\r\nX-B: y"}, "the value of the header X-A holds a line end"),
        ({"X-A": "x\0"}, "the value of the header X-A holds a line end"),
        ({"X-A": "\u4e2d"}, "the value of the header X-A holds a line end"),
        ({"X-A": "a ${UNCLOSED"}, r"X-A has \$\{ without"),
        ({"X-A": "${}"}, r"X-A has \$\{ without"),
        ({"X-A": "${NOT A NAME} ${TEAM}"}, r"X-A has \$\{ without"),
        ({"Accept-Encoding": "gzip"}, "Accept-Encoding is set by Draftmark's client"),
        ({"Content-Length": "5"}, "Content-Length is set by Draftmark's client"),
        ({"X-A": "x", "x-a": "y"}, "x-a is there twice"),
    ],
)
def test_a_header_that_no_request_can_carry_is_refused_at_once(headers: dict[str, str], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        OpenaiSpec.model_validate({**SERVER, "headers": headers})


@pytest.mark.parametrize(
    "value",
    [
        "sk-0123456789abcdef",
        "key=sk-0123456789abcdef;v=1",
        "hf_abcdefghijkl",
        "ghp_0123456789abcdef",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln",
        "Bearer canary-5c1e9b7a",
        "basic am9lOnNlc2FtZQ==",
        "0123456789abcdef0123456789abcdef",
        "550e8400-e29b-41d4-a716-446655440000",
        "${TEAM} sk-0123456789abcdef",
    ],
)
def test_a_header_whose_value_looks_like_a_key_is_refused_without_being_repeated(value: str) -> None:
    with pytest.raises(ValidationError) as raised:
        OpenaiSpec.model_validate({**SERVER, "headers": {"X-Session": value}})
    (error,) = raised.value.errors(include_input=False, include_url=False)
    assert "X-Session holds a key" in error["msg"]
    assert value not in error["msg"]


@pytest.mark.parametrize(
    "value",
    [
        "blue",
        "text/event-stream; charset=utf-8",
        "my-benchmark-client-2024-run-17",
        "meta-llama/Llama-3.1-8B-Instruct",
        "${TEAM}",
        "task-skills",
        "risk-management-of-2024",
        "${A}-${B}",
    ],
)
def test_a_header_of_plain_words_is_taken(value: str) -> None:
    assert OpenaiSpec.model_validate({**SERVER, "headers": {"X-Team": value}}).headers == {"X-Team": value}


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"api_key": KEY}, "api_key"),
        ({"apiKey": KEY}, "apiKey"),
        ({"auth": {"password": KEY}}, "auth.password"),
        ({"tools": [{"server": {"access-token": KEY}}]}, r"tools\[0\].server.access-token"),
        ({"user": "sk-0123456789abcdef"}, "user"),
        ({"tools": [["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln"]]}, r"tools\[0\]\[0\]"),
    ],
)
def test_a_key_in_the_body_is_refused_at_any_depth_without_being_repeated(body: dict[str, object], place: str) -> None:
    with pytest.raises(ValidationError, match=f"{place} holds a key, which would be written") as raised:
        OpenaiSpec.model_validate({**SERVER, "extra_body": body})
    (error,) = raised.value.errors(include_input=False, include_url=False)
    assert all(key not in error["msg"] for key in (KEY, "sk-0123", "eyJ"))


@pytest.mark.parametrize("key", ["n", "best_of", "use_beam_search", "echo"])
def test_more_answers_than_one_cannot_be_asked_for(key: str) -> None:
    with pytest.raises(ValidationError, match=f"{key} cannot be asked for"):
        OpenaiSpec.model_validate({**SERVER, "extra_body": {key: 4}})


@pytest.mark.parametrize("key", ["stream", "ignore_eos", "max_completion_tokens", "n_predict"])
def test_what_a_plan_says_elsewhere_goes_into_no_body(key: str) -> None:
    with pytest.raises(ValidationError, match=f"{key} is set by the plan's own keys"):
        OpenaiSpec.model_validate({**SERVER, "extra_body": {key: 4}})


def test_other_keys_of_the_body_are_taken() -> None:
    body = {"chat_template_kwargs": {"enable_thinking": False}, "min_tokens": 3, "bad_words": ["a"]}
    assert OpenaiSpec.model_validate({**SERVER, "extra_body": body}).extra_body == body
