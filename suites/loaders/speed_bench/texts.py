"""Texts of stand-in rows whose source holds them whole, or whose own turn says where the source's text belongs.

Each builder takes a source's rows of one split and returns what makes the turns of a row. Faults of a single row
(LookupError, ValueError, TypeError) name that row; nothing is guessed. Which fields are read follows NVIDIA's preparer
(Model-Optimizer, examples/specdec_bench, datasets/speed.py at the commit in `wording`).
"""

from __future__ import annotations

import re
from contextlib import suppress
from string import Formatter
from typing import TYPE_CHECKING, Any, NamedTuple

from draftmark.suites.reading.rows import STAND_IN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from draftmark.suites.loaders.speed_bench.splits import Split
    from draftmark.suites.loaders.speed_bench.supply import Supply
    from draftmark.suites.reading.rows import Row

    SourceRow = Mapping[str, Any]
    TurnsOf = Callable[[Row], list[str]]


class Work(NamedTuple):
    """What a builder has to do."""

    rows: Sequence[Row]
    """The source's stand-in rows, in the order of the split, which some texts depend on."""
    split: Split
    supply: Supply


CODE_CONTESTS_REVISION = "802411c3010cb00d1b05bad57ca77365a3c699d6"
HLE_REVISION = "021a3d71f516a7ac28ceb8d284969902edf1edeb"
LIVECODEBENCH_REVISION = "0fe84c3912ea0c4d4a78037083943e8f0c4dd505"
OPUS_REVISION = "805090dc28bf78897da9641cdf08b61287580df9"
CHATRAG_REVISION = "af6c7d420ddddf21f54f8ab3394bbf462aad2577"
MMLU_PRO_REVISION = "30527804ea8854662078e457808040d872ecdf29"
ROLES_ADDRESS = (
    "https://huggingface.co/datasets/ZenMoore/RoleBench/raw/a57ed54f9613921e4a5f1b63601a558cd5acf971/"
    "profiles-eng/desc.json"
)


def cnn_dailymail(work: Work) -> TurnsOf:
    """A news article inside the row's own instruction."""
    rows = work.supply.hub_rows("abisee/cnn_dailymail", "3.0.0", None, ["id", "article"])
    articles = _by(rows, "id", work.rows)
    return lambda row: [fill(template(row), article=articles[row["src_id"]]["article"])]


def hle_questions(work: Work) -> TurnsOf:
    """A question of Humanity's Last Exam as it is."""
    rows = work.supply.hub_rows("cais/hle", None, HLE_REVISION, ["id", "question"])
    questions = _by(rows, "id", work.rows)
    return lambda row: [questions[row["src_id"]]["question"]]


def livecodebench(work: Work) -> TurnsOf:
    """A programming task and its starter code inside the row's own instruction."""
    tasks: dict[str, SourceRow] = {}
    for name in ("test", "test2", "test3", "test4", "test5", "test6"):
        address = (
            "https://huggingface.co/datasets/livecodebench/code_generation_lite/resolve/"
            f"{LIVECODEBENCH_REVISION}/{name}.jsonl"
        )
        tasks = _by(work.supply.json_rows(address), "question_id", work.rows) | tasks
    return lambda row: [
        fill(
            template(row),
            question=tasks[row["src_id"]]["question_content"],
            starter_code=tasks[row["src_id"]]["starter_code"],
        )
    ]


def code_contests(work: Work) -> TurnsOf:
    """A contest's problem inside the row's own instruction."""
    rows = work.supply.hub_rows("deepmind/code_contests", None, CODE_CONTESTS_REVISION, ["name", "description"])
    problems = _by(rows, "name", work.rows)
    return lambda row: [fill(template(row), question=problems[row["src_id"]]["description"])]


def mt_bench_101(work: Work) -> TurnsOf:
    """The user's side of a dialogue; the row's source is the file's address."""
    places = {_source(row): set[int]() for row in work.rows}
    for row in work.rows:
        with suppress(LookupError, ValueError):  # the row itself is named when its turns are made
            places[_source(row)].add(last_number(row))
    dialogues = {source: pick(work.supply.json_rows(source), wanted) for source, wanted in places.items()}
    return lambda row: [entry["user"] for entry in dialogues[_source(row)][last_number(row)]["history"]]


def opus_100(work: Work) -> TurnsOf:
    """A pair of sentences, written as Python writes it, inside the row's own instruction; src_id is name_pair_row."""
    configs: set[str] = set()
    for row in work.rows:
        with suppress(ValueError):  # as above
            configs.add(_opus_place(row)[0])
    pairs = {
        config: work.supply.hub_rows("Helsinki-NLP/opus-100", config, OPUS_REVISION, ["translation"])
        for config in configs
    }

    def turns(row: Row) -> list[str]:
        config, index = _opus_place(row)
        return [fill(template(row), question=str(pairs[config][index]["translation"]))]

    return turns


def role_bench(work: Work) -> TurnsOf:
    """A role's questions after the row's own instruction, which the role's description completes."""
    descriptions = next(iter(work.supply.json_rows(ROLES_ADDRESS)))
    files: dict[str, list[SourceRow]] = {}
    for row in work.rows:
        with suppress(LookupError):  # as above
            address = _role_address(row)
            if address not in files:
                files[address] = list(work.supply.json_rows(address))

    def turns(row: Row) -> list[str]:
        questions = [files[_role_address(row)][index] for index in numbers(row)[: len(row["turns"])]]
        role = questions[0]["role"]
        opening = fill(template(row), role_name=role, role_description_and_catchphrases=descriptions[role])
        later = [q["question"].removeprefix(f"{role}, ").removeprefix(f" {role},") for q in questions[1:]]
        return [f"{opening}\n{questions[0]['question']}", *later]

    return turns


def chatrag_bench(work: Work) -> TurnsOf:
    """A dialogue about documents: the preparer's instruction with the documents first, then the user's questions."""
    rows = [
        row
        for config in ("hybridial", "sqa")
        for row in work.supply.hub_rows("nvidia/ChatRAG-Bench", config, CHATRAG_REVISION, ["ctxs", "messages"])
    ]
    instruction = work.supply.wording().text("_generate_chatrag_bench_prompt", "prompt")

    def turns(row: Row) -> list[str]:
        found = rows[last_number(row)]
        context = "\n\n".join(document["text"] for document in found["ctxs"])
        first, *later = [message["content"] for message in found["messages"] if message["role"] == "user"]
        return [fill(instruction, context=context, question=first), *later]

    return turns


def mmlu_pro(work: Work) -> TurnsOf:
    """Multiple-choice questions in a row, the first after the preparer's instruction."""
    rows = work.supply.hub_rows("TIGER-Lab/MMLU-Pro", None, MMLU_PRO_REVISION, ["question", "options"])
    instruction = work.supply.wording().text("_generate_mmlu_pro_prompt", "prompt")

    def asked(index: int) -> str:
        question = rows[index]
        options = "\n".join(f"({chr(ord('A') + n)}) {option}" for n, option in enumerate(question["options"]))
        return f"Question: {question['question']}\n\nOptions: {options}\n\n"

    def turns(row: Row) -> list[str]:
        first = int(row["src_id"].split("(")[1].split(",")[0])
        questions = [asked(first + n) for n in range(len(row["turns"]))]
        return [fill(instruction, subject=row["sub_category"]) + questions[0], *questions[1:]]

    return turns


def template(row: Row) -> str:
    """Return what a stand-in turn says behind its first paragraph: an instruction with places for the source's text."""
    opening, gap, rest = row["turns"][0].partition("\n\n")
    if not opening.startswith(STAND_IN) or not gap:
        raise ValueError("the stand-in carries no instruction")
    return str(rest)


def fill(text: str, **values: str) -> str:
    """Put values at `{name}` as `str.format` does, but never an attribute or element of one; raise ValueError."""
    pieces: list[str] = []
    for literal, name, form, conversion in Formatter().parse(text):
        pieces.append(literal)
        if name is None:
            continue
        if name not in values or form or conversion:
            raise ValueError(f"the instruction has a place for {name!r}, which the source does not fill")
        pieces.append(values[name])
    return "".join(pieces)


def numbers(row: Row) -> list[int]:
    """Return the whole numbers that follow an underscore in src_id."""
    return [int(digits) for digits in re.findall(r"_(\d+)", row["src_id"])]


def last_number(row: Row) -> int:
    """Return what follows src_id's last underscore as a number; raise ValueError."""
    return int(row["src_id"].rsplit("_", 1)[1])


def pick(rows: Iterable[SourceRow], wanted: set[int]) -> dict[int, SourceRow]:
    """Return the rows of these places, by place; reads no further than the last."""
    found: dict[int, SourceRow] = {}
    last = max(wanted, default=-1)
    for index, row in enumerate(rows):
        if index in wanted:
            found[index] = row
        if index >= last:
            break
    return found


def _by(rows: Iterable[SourceRow], key: str, asked: Sequence[Row]) -> dict[str, SourceRow]:
    """Return the source's rows that are asked for, by key; the first where a key is there twice."""
    wanted = {row["src_id"] for row in asked}
    found: dict[str, SourceRow] = {}
    for row in rows:
        if row[key] in wanted:
            found.setdefault(row[key], row)
    return found


def _source(row: Row) -> str:
    return str(row["source"])


def _opus_place(row: Row) -> tuple[str, int]:
    _, config, index = row["src_id"].split("_")
    return config, int(index)


def _role_address(row: Row) -> str:
    config = row["src_id"].split("_")[1]
    return f"{_source(row).replace('tree', 'raw')}/{config}/role_specific/test.jsonl"
