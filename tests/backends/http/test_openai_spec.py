"""`kind: openai`: what a plan may say of a server, and that keys stay out of everything that is written."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from draftmark.backends.base import BackendError
from draftmark.backends.http import OpenaiSpec
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
