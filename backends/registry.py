"""Lazy tables from a plan's `kind` to the class that reads it, for backends and drafters.

Other packages add kinds through the entry points `draftmark.backends` (subclasses of `BackendSpec`) and
`draftmark.drafters` (subclasses of `DrafterSpec`); nothing of theirs is imported before a plan names the kind.
"""

from __future__ import annotations

from draftmark.backends.base import BackendError, BackendSpec
from draftmark.backends.drafters import DrafterSpec
from draftmark.results.kinds import KindTable

BACKENDS: KindTable[BackendSpec] = KindTable(
    noun="backend",
    group="draftmark.backends",
    base=BackendSpec,
    error=BackendError,
    builtin={
        "reference": "draftmark.backends.reference:ReferenceSpec",
        "vllm": "draftmark.backends.vllm:VllmSpec",
        "vllm-server": "draftmark.backends.servers.vllm:VllmServerSpec",
        "sglang-server": "draftmark.backends.servers.sglang:SglangServerSpec",
        "trtllm-server": "draftmark.backends.servers.trtllm:TrtllmServerSpec",
        "llamacpp-server": "draftmark.backends.servers.llamacpp:LlamacppServerSpec",
        "openai": "draftmark.backends.http.spec:OpenaiSpec",
    },
)

DRAFTERS: KindTable[DrafterSpec] = KindTable(
    noun="drafter",
    group="draftmark.drafters",
    base=DrafterSpec,
    error=BackendError,
    builtin={
        "none": "draftmark.backends.drafters:NoneSpec",
        "ngram": "draftmark.backends.drafters:NgramSpec",
        "suffix": "draftmark.backends.drafters:SuffixSpec",
        "draft-model": "draftmark.backends.drafters:DraftModelSpec",
        "eagle": "draftmark.backends.drafters:EagleSpec",
        "eagle3": "draftmark.backends.drafters:Eagle3Spec",
        "mtp": "draftmark.backends.drafters:MtpSpec",
        "dflash": "draftmark.backends.drafters:DflashSpec",
        "dspark": "draftmark.backends.drafters:DsparkSpec",
        "medusa": "draftmark.backends.drafters:MedusaSpec",
        "custom": "draftmark.backends.drafters:CustomSpec",
        "synthetic": "draftmark.backends.drafters:SyntheticSpec",
        "as-served": "draftmark.backends.drafters:AsServedSpec",
    },
)
