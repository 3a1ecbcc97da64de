"""What an engine runs with, as flat names to plain values."""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from types import SimpleNamespace
from typing import Any

import pytest

from draftmark.backends.vllm.resolved import flat


class Mode(enum.IntEnum):
    NONE = 0
    PIECEWISE = 3


@dataclass
class Passes:
    fuse_norm: bool = True


@dataclass
class Compilation:
    mode: Mode = Mode.PIECEWISE
    sizes: tuple[int, ...] = (1, 2, 4)
    splitting: frozenset[str] = frozenset({"b", "a"})
    pass_config: Passes = field(default_factory=Passes)
    cache_dir: str = "/models/somebody/cache"
    compilation_time: float = 3.5
    graphs: Any = field(default_factory=object)
    many: list[int] = field(default_factory=lambda: list(range(500)))


@dataclass
class Scheduler:
    async_scheduling: bool = True
    max_num_seqs: int | None = None
    watermark: float = float("inf")


@dataclass
class Model:
    model: str = "/models/somebody/weights"
    hf_token: str | bool | None = "hf_CANARY"  # noqa: S105 - what must not get out
    dtype: Any = "torch.bfloat16"
    quantization: str | None = None
    limits: dict[str, int] = field(default_factory=lambda: {"image": 1})
    place: PurePosixPath = field(default_factory=lambda: PurePosixPath("x/y"))


@dataclass
class Load:
    load_format: str = "auto"
    model_loader_extra_config: dict[str, str] = field(default_factory=lambda: {"key": "CANARY"})
    download_dir: str = "/somewhere"


@dataclass
class Observability:
    otlp_traces_endpoint: str = "https://user:CANARY@host"
    kv_cache_metrics: bool = False


@dataclass
class Parallel:
    tensor_parallel_size: int = 2
    master_port: int = 29500
    data_parallel_master_ip: str = "10.0.0.7"
    master_addr: str = "10.0.0.7"
    worker_cls: str = "a.b.Worker"
    worker_extension_cls: str = "c.d.Probe"


@pytest.fixture
def found() -> dict[str, Any]:
    return flat(
        SimpleNamespace(
            compilation_config=Compilation(),
            scheduler_config=Scheduler(),
            model_config=Model(),
            load_config=Load(),
            observability_config=Observability(),
            parallel_config=Parallel(),
            speculative_config=Scheduler(),
            lora_config=None,
        )
    )


def test_settings_go_by_the_part_and_their_name(found: dict[str, Any]) -> None:
    assert found["scheduler.async_scheduling"] is True
    assert found["scheduler.max_num_seqs"] is None
    assert found["parallel.tensor_parallel_size"] == 2
    assert found["compilation.pass_config.fuse_norm"] is True
    assert list(found) == sorted(found)


def test_values_are_plain_json_and_enums_their_names(found: dict[str, Any]) -> None:
    assert found["compilation.mode"] == "PIECEWISE"
    assert found["compilation.sizes"] == [1, 2, 4]
    assert found["compilation.splitting"] == ["a", "b"]
    assert found["model.dtype"] == "torch.bfloat16"
    assert found["model.limits"] == {"image": 1}
    assert found["model.place"] == "x/y"
    assert found["scheduler.watermark"] == "inf"
    json.dumps(found, allow_nan=False)


def test_objects_and_long_lists_say_nothing_and_are_left_out(found: dict[str, Any]) -> None:
    assert not {"compilation.graphs", "compilation.many"} & set(found)


def test_what_arms_differ_in_anyway_is_left_out(found: dict[str, Any]) -> None:
    assert not [name for name in found if name.startswith("speculative")]


def test_secrets_places_and_moments_stay_on_the_machine(found: dict[str, Any]) -> None:
    told = json.dumps(found)
    for word in ("CANARY", "somebody", "somewhere", "10.0.0.7", "29500", "Worker", "Probe", "compilation_time"):
        assert word not in told


def test_a_part_that_has_moved_is_no_error() -> None:
    assert flat(SimpleNamespace(model_config=SimpleNamespace(dtype="x"))) == {}
