"""Notes on days, such as a new site or a paused campaign, and their marks in charts."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from itertools import groupby
from typing import Any

from msgspec import Struct, field
from psycopg import AsyncConnection

from headwater.console.report_pages.charts.charts import WIDTH, digits
from headwater.database.queries import Queries, fetch_all, fetch_optional, make_cursor
from headwater.http.errors import Errors, Invalid, require_found
from headwater.spaces.accounts.members import list_members

queries = Queries(__name__, "chart_notes.sql")

MOST_NOTES = 500
LONGEST = 200
MOST_MARKED = 20
LEAST_DISTANCE = 5.0
"""Minimum distance of two numbers in percent of the width, enough on a phone."""
MOST_LISTED = 50
FIRST_DAY, LAST_DAY = date(2000, 1, 1), date(2099, 12, 31)


class ChartNote(Struct, frozen=True):
    id: int
    day: date
    text: str
    made_by: int | None
    made_at: datetime
    changed_by: int | None
    changed_at: datetime | None


class NoteMark(Struct, frozen=True):
    x: str
    """In chart units."""
    percent: str
    """As a percentage of the width."""
    number: str
    """The list number of its first note; empty next to another mark."""
    text: str


class ChartNotes(Struct, frozen=True):
    notes: Sequence[ChartNote] = ()
    marks: Sequence[NoteMark] = ()
    authors: Mapping[int, str] = field(default_factory=dict[int, str])
    is_cut: bool = False
    """Whether the period has more notes."""


async def read_chart_notes(
    connection: AsyncConnection, space_id: int, first: date, last: date, steps: Sequence[str]
) -> ChartNotes:
    """Return notes from `first` to `last`, with marks for time buckets beginning on the days `steps`; hourly
    charts have no marks.
    """
    values = {"space_id": space_id, "first": first, "last": last, "most": MOST_MARKED + 1, "left_out": 0}
    period_notes = await fetch_all(make_cursor(connection, ChartNote), queries["list"], values)
    notes = period_notes[:MOST_MARKED][::-1]
    if not notes:
        return ChartNotes()
    marks = _marks(notes, steps) if len(steps[0]) == len("2026-01-01") else ()
    return ChartNotes(notes, marks, await read_authors(connection, space_id), len(period_notes) > MOST_MARKED)


def _marks(notes: Sequence[ChartNote], steps: Sequence[str]) -> tuple[NoteMark, ...]:
    marks: list[NoteMark] = []
    numbered = [
        (max(0, bisect_right(steps, note.day.isoformat()) - 1), number, note.text)
        for number, note in enumerate(notes, 1)
    ]
    numbered_at = -LEAST_DISTANCE
    for day, group in groupby(numbered, key=lambda note: note[0]):
        step_notes = list(group)
        percent = 100 * (day + 0.5) / len(steps)
        is_apart = percent - numbered_at >= LEAST_DISTANCE
        numbered_at = percent if is_apart else numbered_at
        marks.append(
            NoteMark(
                digits(WIDTH * percent / 100),
                f"{percent:.2f}%",
                str(step_notes[0][1]) if is_apart else "",
                "; ".join(text for _, _, text in step_notes),
            )
        )
    return tuple(marks)


async def read_authors(connection: AsyncConnection, space_id: int) -> dict[int, str]:
    members = await list_members(connection, space_id)
    return {member.user_id: member.display_name for member in members}


async def list_notes(connection: AsyncConnection, space_id: int, page: int) -> list[ChartNote]:
    """Return the latest day first, plus one note if another page follows."""
    values = {
        "space_id": space_id,
        "first": FIRST_DAY,
        "last": LAST_DAY,
        "most": MOST_LISTED + 1,
        "left_out": MOST_LISTED * (page - 1),
    }
    return await fetch_all(make_cursor(connection, ChartNote), queries["list"], values)


async def fetch_note(connection: AsyncConnection, space_id: int, note_id: int) -> ChartNote:
    """Raise NotFound if missing."""
    values = {"space_id": space_id, "id": note_id}
    return require_found(
        await fetch_optional(make_cursor(connection, ChartNote), queries["fetch"], values), "Page"
    )


async def add_note(connection: AsyncConnection, space_id: int, user_id: int, day: str, text: str) -> int:
    """Return the note's id. Raise Invalid."""
    values = {**_read(day, text), "space_id": space_id, "user_id": user_id, "most": MOST_NOTES}
    row = await fetch_optional(connection, queries["add"], values)
    if row is None:
        raise Invalid.of("text", f"There are {MOST_NOTES} notes, the maximum. Delete one first.")
    return row[0]


async def change_note(
    connection: AsyncConnection, space_id: int, user_id: int, note: ChartNote, day: str, text: str
) -> None:
    """Raise Invalid for bad input."""
    values = {**_read(day, text), "space_id": space_id, "user_id": user_id, "id": note.id}
    await connection.execute(queries["change"], values)


async def remove_note(connection: AsyncConnection, space_id: int, note_id: int) -> None:
    await connection.execute(queries["remove"], {"space_id": space_id, "id": note_id})


def _read(day: str, text: str) -> dict[str, Any]:
    """Raise Invalid by field."""
    errors: Errors = {}
    text = " ".join(text.split())
    if not 1 <= len(text) <= LONGEST:
        errors["text"] = [f"Enter a note of 1 to {LONGEST} characters."]
    elif not text.isprintable():
        errors["text"] = ["Remove the control characters."]
    try:
        parsed = date.fromisoformat(day)
    except ValueError:
        parsed = None
    if parsed is None or not FIRST_DAY <= parsed <= LAST_DAY:
        errors["day"] = ["Enter a day of this century, such as 2026-05-31."]
    if errors:
        raise Invalid(errors)
    return {"day": parsed, "text": text}
