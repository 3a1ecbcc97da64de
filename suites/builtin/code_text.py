"""Endless generated source text for long prompts: settings, boilerplate classes and small functions.

Each generator yields a line or a block at a time. Settings and accessors repeat themselves as boilerplate does; what
`functions` yields differs in shape, names and constants. All of it is frozen, as in record_text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from draftmark.suites.builtin.draws import Draws

_WORKERS = ("orders", "invoices", "labels", "returns", "stock", "mail", "prices", "reports")
_FIELDS = ("width", "height", "depth", "weight", "colour", "maker", "shelf", "price", "stock", "label")
_NOUNS = ("row", "parcel", "ticket", "sample", "signal", "letter", "packet", "score")
_VERBS = ("collect", "trim", "merge", "rank", "split", "filter", "weigh", "pair")

_SHAPES = (
    '''def {verb}_{noun}s({noun}s, limit={a}):
    """Keep the {noun}s whose size is below the limit."""
    kept = []
    for {noun} in {noun}s:
        if len({noun}) < limit:
            kept.append({noun})
    return kept
''',
    '''def {verb}_{noun}_totals(table):
    """Add up the amounts of each {noun}, largest first."""
    totals = {{}}
    for name, amount in table:
        totals[name] = totals.get(name, 0) + amount * {b}
    return sorted(totals.items(), key=lambda item: -item[1])
''',
    '''def next_{noun}(queue, now, wait={a}):
    """Take the oldest {noun} that has waited long enough, or None."""
    if not queue:
        return None
    since, {noun} = queue[0]
    if now - since < wait:
        return None
    queue.pop(0)
    return {noun}
''',
    '''def {verb}_by_{noun}(items):
    """Group items by their {noun}, in order of arrival."""
    groups = defaultdict(list)
    for item in items:
        groups[item["{noun}"]].append(item)
    return dict(groups)
''',
    '''class {Noun}Counter:
    """Counts {noun}s and forgets the oldest after {a}."""

    def __init__(self):
        self.seen = deque(maxlen={a})

    def add(self, {noun}):
        self.seen.append({noun})
        return self.seen.count({noun})
''',
    '''def {verb}_until_quiet(read, tries={b}):
    """Call read until it returns nothing; give up after some tries."""
    found = []
    while tries > 0:
        {noun} = read()
        if {noun} is None:
            break
        found.append({noun})
        tries -= 1
    return found
''',
    '''def parse_{noun}(line):
    """Read "name=value; name=value" into a dict; skip what has no sign."""
    pairs = (part.split("=", {b}) for part in line.split(";") if "=" in part)
    return {{key.strip(): value.strip() for key, value in pairs}}
''',
    '''def middle_{noun}({noun}s):
    """Return the {noun} in the middle, or the mean of the two."""
    ordered = sorted({noun}s)
    half = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[half]
    return (ordered[half - 1] + ordered[half]) / 2
''',
)


def settings(draws: Draws) -> Iterator[str]:
    """Yield the lines of a settings file, a section for each worker, all alike."""
    port = 7000 + 100 * draws.between(1, 9)
    number = 0
    while True:
        name = f"{_WORKERS[number % len(_WORKERS)]}-{number // len(_WORKERS) + 1}"
        yield f"[worker.{name}]\n"
        yield f"host = 10.0.4.{number % 200 + 10}\n"
        yield f"port = {port + number}\n"
        yield f"threads = {draws.pick((2, 4))}\n"
        yield "timeout_s = 30\n"
        yield "retries = 3\n"
        yield "log_level = info\n\n"
        number += 1


def accessors(draws: Draws) -> Iterator[str]:
    """Yield methods of a class that only read and write one field each."""
    fields = draws.shuffled(_FIELDS)
    number = 0
    while True:
        field = fields[number % len(fields)] + ("" if number < len(fields) else f"_{number // len(fields) + 1}")
        number += 1
        yield f"    def get_{field}(self):\n        return self._{field}\n\n"
        yield f"    def set_{field}(self, value):\n        self._check(value)\n        self._{field} = value\n\n"


def functions(draws: Draws) -> Iterator[str]:
    """Yield small Python functions and classes, a blank line behind each; shapes take turns in a drawn order."""
    while True:
        for shape in draws.shuffled(_SHAPES):
            noun, verb = draws.pick(_NOUNS), draws.pick(_VERBS)
            block = shape.format(noun=noun, Noun=noun.title(), verb=verb, a=draws.between(5, 60), b=draws.between(1, 9))
            yield block + "\n"
