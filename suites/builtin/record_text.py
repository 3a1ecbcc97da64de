"""Endless generated records for long prompts: logs, tables, price lists, statements and JSON lines.

Each generator yields one record at a time, line end included. Neighbouring records are near duplicates, as they are in
such files. What is yielded is frozen: a changed character changes the hash of every suite built from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from draftmark.suites.builtin.draws import Draws

_SERVICES = ("gateway", "billing", "search", "mailer")
_PATHS = ("/v1/orders", "/v1/orders/items", "/v1/customers", "/v1/stock")
_STATIONS = ("North Weir", "Mill Bridge", "Old Harbour", "Salt Quay", "East Lock")
_GOODS = ("shelf bracket", "door hinge", "wood screw", "wall anchor", "cable clip", "pipe clamp")
_FINISHES = ("zinc", "black", "brass")
_INSERT = (
    "INSERT INTO booking (id, town, arrival, nights, state) "
    "VALUES ({booking}, '{town}', '2030-06-{day}', {nights}, 'open');\n"
)
_TOWNS = ("Aldern", "Brackwater", "Corrie", "Dunmoor")


def service_log(draws: Draws) -> Iterator[str]:
    """Yield lines of a request log; every fourth is a warning about a slow answer."""
    seconds = draws.between(28_800, 36_000)
    service = draws.pick(_SERVICES)
    number = 0
    while True:
        number += 1
        seconds += draws.between(1, 4)
        clock = f"{seconds // 3600 % 24:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        path = draws.pick(_PATHS)
        if number % 4 == 0:
            yield f"2031-03-04 {clock} WARN {service} slow answer path={path} ms={draws.between(900, 990)} retry=no\n"
        else:
            yield f"2031-03-04 {clock} INFO {service} request done path={path} ms={draws.between(12, 19)} status=200\n"


def station_table(draws: Draws) -> Iterator[str]:
    """Yield rows of a table of river gauges, without its heading."""
    hour = 0
    while True:
        for station in _STATIONS:
            level = draws.between(180, 189)
            yield f"| {station} | {hour % 24:02}:00 | {level / 100:.2f} m | steady | not checked |\n"
        hour += 1


def price_list(draws: Draws) -> Iterator[str]:
    """Yield rows of a comma-separated price list, without its heading."""
    article = 1000 + 10 * draws.between(1, 50)
    while True:
        good = draws.pick(_GOODS)
        for finish in _FINISHES:
            article += 1
            cents = draws.pick((120, 145, 190, 215))
            price = f"{cents // 100}.{cents % 100:02}"
            yield f"A-{article},{good},{finish},{price},EUR,in stock,shelf {draws.between(1, 9)}\n"


def insert_statements(draws: Draws) -> Iterator[str]:
    """Yield SQL statements that fill a table of bookings, one a line."""
    booking = 100 * draws.between(10, 90)
    while True:
        booking += 1
        town, nights = draws.pick(_TOWNS), draws.between(1, 4)
        day = draws.between(10, 28)
        yield _INSERT.format(booking=booking, town=town, day=day, nights=nights)


def json_records(draws: Draws) -> Iterator[str]:
    """Yield parcels as JSON, one object a line."""
    parcel = 1000 * draws.between(3, 9)
    while True:
        parcel += 1
        grams = 50 * draws.between(4, 12)
        yield (
            f'{{"parcel": {parcel}, "from": "{draws.pick(_TOWNS)}", "to": "{draws.pick(_TOWNS)}", '
            f'"grams": {grams}, "insured": false, "state": "waiting"}}\n'
        )


def release_notes(draws: Draws) -> Iterator[str]:
    """Yield entries of a list of changes, varied in wording."""
    verbs = ("Fix", "Speed up", "Rework", "Document", "Drop", "Guard")
    parts = ("the import of old calendars", "the search index", "printing on narrow paper", "the night view",
             "the undo list", "reminders across time zones", "the export to text", "shared lists")  # fmt: skip
    reasons = ("it lost entries after a crash", "readers asked for it", "it was slow above a thousand entries",
               "two people saw different states", "it was never finished", "it broke with long names")  # fmt: skip
    minor = draws.between(2, 6)
    number = 0
    while True:
        if number % 5 == 0:
            yield f"Version 3.{minor + number // 5}\n"
        number += 1
        yield f"- {draws.pick(verbs)} {draws.pick(parts)}: {draws.pick(reasons)} (#{draws.between(100, 999)}).\n"


def minutes(draws: Draws) -> Iterator[str]:
    """Yield lines of a meeting's minutes: who said what about which plan."""
    people = ("Ada", "Bo", "Carmen", "Dmitri", "Esi", "Femke")
    verbs = ("reports that", "doubts that", "asks whether", "agrees that", "notes that")
    subjects = ("the new boiler", "the bus shelter", "the reading room", "the spring fair", "the roof of the hall")
    states = ("can wait until May", "costs more than planned", "needs a second offer", "is nearly ready",
              "has the town's support", "should be cheaper")  # fmt: skip
    minute = 0
    while True:
        minute += draws.between(2, 5)
        yield (
            f"{18 + minute // 60 % 6}:{minute % 60:02} {draws.pick(people)} {draws.pick(verbs)} "
            f"{draws.pick(subjects)} {draws.pick(states)}.\n"
        )
