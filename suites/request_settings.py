"""What a recorded request asked for besides its messages: tools, the form of its answer, and how tokens are chosen."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, model_validator

from draftmark.results.records import Sampling
from draftmark.results.records.keys import MOST_TOKENS
from draftmark.suites.json_values import value_problem
from draftmark.suites.quoting import quoted

FORMATS = ("text", "json_object", "json_schema")
"""Types of a `response_format`."""


class RequestSampling(BaseModel):
    """The keys of `Sampling` that a request had; null for those it had not."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    temperature: FiniteFloat | None = None
    top_p: FiniteFloat | None = None
    top_k: Annotated[int, Field(ge=0, le=MOST_TOKENS)] | None = None
    max_tokens: Annotated[int, Field(gt=0, le=MOST_TOKENS)] | None = None
    stop: tuple[Annotated[str, Field(min_length=1)], ...] | None = None

    @model_validator(mode="after")
    def _can_be_sampled(self) -> RequestSampling:
        self.over(Sampling())
        return self

    def over(self, sampling: Sampling) -> Sampling:
        """Return a plan's sampling with what the request had; raises `ValidationError` for what cannot be sampled."""
        had = {key: value for key, value in self.model_dump().items() if value is not None}
        return Sampling.model_validate({**sampling.model_dump(), **had})


def format_problem(response_format: Any) -> str | None:
    """Say why a `response_format` is not one of the API's; null if it is."""
    if not isinstance(response_format, dict):
        return "response_format is no object"
    kind = response_format.get("type")
    if kind not in FORMATS:
        return f"response_format is of type {quoted(kind)}; known are {', '.join(FORMATS)}"
    problem = value_problem(response_format)
    if problem is not None:
        return f"response_format {problem}"
    if kind != "json_schema":
        return None
    inner = response_format.get("json_schema")
    if not isinstance(inner, dict) or not isinstance(inner.get("schema"), dict):
        return "response_format of type json_schema needs json_schema: an object with a schema, an object"
    return None


def tools_problem(tools: Any) -> str | None:
    """Say why tools are not the API's: a list of functions with names; null if they are."""
    if not isinstance(tools, list | tuple):
        return "tools is no list"
    for index, tool in enumerate(tools):
        function = tool.get("function") if isinstance(tool, dict) else None
        if not isinstance(function, dict) or tool.get("type", "function") != "function":
            return f"tools[{index}] is no function: an object with type and function"
        if not isinstance(function.get("name"), str) or not function["name"]:
            return f"tools[{index}].function.name is missing"
        problem = value_problem(tool)
        if problem is not None:
            return f"tools[{index}] {problem}"
    return None
