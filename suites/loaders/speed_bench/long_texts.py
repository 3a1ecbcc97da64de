"""Texts of stand-in rows that are made to a length in tokens of o200k_base, or that draw from a random generator.

Order, draws and cuts follow NVIDIA's preparer step by step (Model-Optimizer, examples/specdec_bench, datasets/speed.py
at the commit in `wording`), oddities included, since another order is another prompt.
"""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING

from draftmark.suites.loaders.speed_bench.texts import HLE_REVISION, numbers, pick

if TYPE_CHECKING:
    from collections.abc import Sequence

    from draftmark.suites.loaders.speed_bench.supply import Encoder
    from draftmark.suites.loaders.speed_bench.texts import SourceRow, TurnsOf, Work
    from draftmark.suites.reading.rows import Row

COSER_SEED = 12347
HLE_SEED = 42
STACK_SEED = 42


def bamboo(work: Work) -> TurnsOf:
    """Long dialogues to complete; src_id names several rows of the file that is the row's source."""
    wording, encoder, length = work.supply.wording(), work.supply.encoder(), _length(work)
    instruction = wording.text("_generate_writing_prompt", "prompt")
    padding = wording.default("_pad_or_truncate_prompt", "padding")
    files = _files(work)

    def turns(row: Row) -> list[str]:
        contents = [files[row["source"]][index]["content"] for index in numbers(row)]
        shown = "\n\n".join(
            f"START CONTENT {place}\n\n{content}\n\nEND CONTENT" for place, content in enumerate(contents, 1)
        )
        return [to_length(instruction.replace("{content}", shown, 1), length, padding, encoder)]

    return turns


def text_sort(work: Work) -> TurnsOf:
    """Parts of a book to put in order, with the preparer's instruction in place of the source's."""
    wording, encoder, length = work.supply.wording(), work.supply.encoder(), _length(work)
    theirs = wording.text("_generate_textsort_prompt", "original_instruction")
    ours = wording.text("_generate_textsort_prompt", "new_instruction")
    padding = wording.default("_pad_or_truncate_prompt", "padding")
    files = _files(work)

    def turns(row: Row) -> list[str]:
        index = int(row["src_id"].split("_")[1])
        return [to_length(files[row["source"]][index]["prompt"].replace(theirs, ours, 1), length, padding, encoder)]

    return turns


def stack_select(work: Work) -> TurnsOf:
    """A question and many answers, of which the best is to be named."""
    wording, encoder, length = work.supply.wording(), work.supply.encoder(), _length(work)
    opening = wording.text("_generate_stackselect_prompt", "prompt", 0)
    before_question = wording.text("_generate_stackselect_prompt", "prompt", 1)
    before_answers = wording.text("_generate_stackselect_prompt", "prompt", 2)
    ending = wording.all("_generate_stackselect_prompt", "end_prompt")
    padding = wording.default("_pad_or_truncate_prompt", "padding")
    wanted = {row["src_id"] for row in work.rows}
    found: dict[str, dict[str, SourceRow]] = {}
    for source in {row["source"] for row in work.rows}:
        rows = [row for row in work.supply.json_rows(source) if row["question_id"] in wanted]
        found[source] = {row["question_id"]: row for row in reversed(rows)}

    def turns(row: Row) -> list[str]:
        entry = found[row["source"]][row["src_id"]]
        start = f"{opening}{before_question}{entry['question']}\n\n{before_answers}"
        room = length - _count(start, encoder) - _count(ending, encoder)
        kept = _answers_that_fit(entry, room, encoder)
        shown = "".join(f"A{place}:\n\n{answer}\n\n" for place, answer in enumerate(kept, 1))
        return [to_length(f"{start}{shown}{ending}", length, padding, encoder)]

    return turns


def hle_demonstrations(work: Work) -> TurnsOf:
    """A question after worked examples of its category, drawn until the length is reached.

    One generator draws for all rows of a split, in their order.
    """
    import numpy as np

    encoder, length = work.supply.encoder(), _length(work)
    opening = work.supply.wording().text("_generate_hle_prompt", "prompt")
    rows = work.supply.hub_rows("cais/hle", None, HLE_REVISION, ["id", "category", "question", "rationale", "image"])
    train, test = halves(len(rows))
    shown: dict[str, list[str]] = {}
    for index in train:
        entry = rows[index]
        if entry["image"] == "":
            text = f"Question: {entry['question']}\n\nAnswer: {entry['rationale']}\n\n"
            shown.setdefault(entry["category"], []).append(text)
    wanted = {row["src_id"] for row in work.rows}
    asked = {entry["id"]: entry for entry in (rows[index] for index in test) if entry["id"] in wanted}
    generator = np.random.default_rng(HLE_SEED)
    missing: list[str] = []

    def turns(row: Row) -> list[str]:
        if missing:
            raise ValueError(f"the draws before it are unknown, since {missing[0]} was not found")
        if row["src_id"] not in asked:
            missing.append(row["src_id"])
        entry = asked[row["src_id"]]
        tokens = encoder.encode(opening.replace("{}", entry["category"], 1), disallowed_special=())
        question = encoder.encode(entry["question"], disallowed_special=())
        examples = shown[entry["category"]]
        while len(tokens) + len(question) < length:
            drawn = examples[int(generator.choice(len(examples), size=1, replace=False)[0])]
            tokens += encoder.encode(drawn, disallowed_special=())
        return [encoder.decode(tokens[: length - len(question) + 1] + question)]

    return turns


def coser(work: Work) -> TurnsOf:
    """A character of a book to play. The order of the other characters is that of the library `datasets`."""
    import numpy as np

    instruction = work.supply.wording().all("_generate_coser_prompt", "prompt")
    tables = {
        source: work.supply.json_table(f"{source.replace('tree', 'raw')}/test/test_set.json")
        for source in {row["source"] for row in work.rows}
    }

    def turns(row: Row) -> list[str]:
        scene = tables[row["source"]][int(row["src_id"].split("_")[1])]
        who = str(np.random.default_rng(COSER_SEED).choice(scene["major_characters"]))
        motives = [other["motivation"] for other in scene["key_characters"] if other["name"] == who]
        profiles = scene["character_profiles"]
        others = [f"{name}: {text}" for name, text in profiles.items() if name != who and text is not None]
        return [
            instruction.format(
                character=who,
                character_profile=profiles[who],
                book_name=scene["book"],
                scenario=scene["scenario"],
                other_character_profiles_str="\n\n".join(others),
                motivation=motives[0] if motives else "No motivation provided",
            )
        ]

    return turns


def to_length(text: str, length: int, padding: str, encoder: Encoder) -> str:
    """Cut a text to `length` tokens, or repeat `padding` after it until it has them."""
    tokens = encoder.encode(text, disallowed_special=())
    if len(tokens) == length:
        return text
    if len(tokens) < length:
        repeats = math.ceil((length - len(tokens)) / _count(padding, encoder))
        tokens = encoder.encode(text + padding * repeats, disallowed_special=())
    return encoder.decode(tokens[:length])


def halves(size: int) -> tuple[list[int], list[int]]:
    """Return the places that `datasets` puts into train and test for test_size 0.5, shuffled with seed 42."""
    import numpy as np

    order = np.random.default_rng(HLE_SEED).permutation(size)
    in_test = math.ceil(size * 0.5)
    return [int(n) for n in order[in_test:]], [int(n) for n in order[:in_test]]


def _answers_that_fit(entry: SourceRow, room: int, encoder: Encoder) -> list[str]:
    """Return the answers up to the first that would not fit beside the best one alone, the best among them, shuffled.

    The preparer never adds up what it has taken; the final cut to length makes up for that.
    """
    answers: Sequence[str] = entry["all_answers"]
    best = int(entry["answer"].strip("A")) - 1
    room -= _count(f"{entry['answer']}:\n\n{answers[best]}\n\n", encoder)
    last = 0
    for place, answer in enumerate(answers):
        if place == best:
            continue
        if _count(f"A{place + 1}:\n\n{answer}\n\n", encoder) > room:
            break
        last = place
    kept = list(answers[: last + 1])
    if last < best:
        kept.insert(0, answers[best])
    random.Random(STACK_SEED).shuffle(kept)  # noqa: S311 - the order that was published, not a secret
    return kept


def _files(work: Work) -> dict[str, dict[int, SourceRow]]:
    """Return, by address, the rows that src_ids point at."""
    wanted: dict[str, set[int]] = {}
    for row in work.rows:
        wanted.setdefault(row["source"], set()).update(numbers(row))
    return {source: pick(work.supply.json_rows(source), places) for source, places in wanted.items()}


def _length(work: Work) -> int:
    if work.split.prompt_tokens is None:
        raise ValueError(f"{work.split.name} has no length in tokens")
    return work.split.prompt_tokens


def _count(text: str, encoder: Encoder) -> int:
    return len(encoder.encode(text, disallowed_special=()))
