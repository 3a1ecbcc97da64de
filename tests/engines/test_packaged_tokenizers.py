"""Every model that Draftmark packages renders the built-in suites without transformers as with it, id for id."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from draftmark.backends.models import ALIASES, locate
from draftmark.suites.builtin.spec import SHIPPED
from draftmark.suites.conversation import messages
from draftmark.suites.naming import find_suite
from draftmark.suites.rendering import Renderer
from draftmark.suites.tokenizer_files import FolderTokenizer

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.engines, pytest.mark.usefixtures("smollm2")]


@pytest.mark.parametrize("model", ALIASES)
def test_the_built_in_suites_have_the_same_ids_and_hashes(model: str) -> None:
    from transformers import AutoTokenizer

    path, options = locate(model).pretrained()
    ours, theirs = Renderer.load(path, **options), Renderer(AutoTokenizer.from_pretrained(path, **options))
    assert isinstance(ours.tokenizer, FolderTokenizer)
    asked = 0
    for name in (*SHIPPED, "long-sequence"):
        suite = find_suite(name, None).load(ours)
        assert suite.hash == find_suite(name, None).load(theirs).hash
        for prompt in suite.prompts:
            for answers in ([], ["Yes, <|im_end|> no."] * (len(prompt.turns) - 1)):
                found = ours.prompt_ids(messages(prompt, answers))
                assert found == theirs.prompt_ids(messages(prompt, answers)), (name, prompt.question_id)
                assert ours.decode(found) == theirs.decode(found)
                asked += 1
    assert asked >= 600


def test_validating_a_plan_imports_neither_transformers_nor_torch(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        "name: light\ntarget: smollm2-135m\nbackends: [{kind: reference}]\n"
        "drafters: [{kind: none}, {kind: ngram, draft_length: 3}]\nsuites: [{kind: builtin, name: coding}]\n"
    )
    program = (
        "import sys\nfrom draftmark.bench.cli import main\nsys.argv = ['draftmark', 'validate', sys.argv[1]]\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\n"
        "assert not {'transformers', 'torch'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(plan)], check=True, capture_output=True)
