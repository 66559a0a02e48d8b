"""The personal data in database columns, declared in columns.txt."""

from __future__ import annotations

import re
from enum import StrEnum
from importlib.resources import files
from types import MappingProxyType

Column = tuple[str, str]


class PersonalData(StrEnum):
    """The kind of data in a column, which decides the effect of an erasure."""

    PERSONAL = "personal"
    """Personal data: cleared, or its row deleted or redacted."""
    KEPT = "kept"
    """A sender's text about an event or company. It may be personal, and is kept."""
    NONE = "none"


def read_columns(text: str) -> dict[Column, PersonalData]:
    """Raise ValueError for an unreadable line or a column declared twice."""
    declared: dict[Column, PersonalData] = {}
    holds: PersonalData | None = None
    for line in filter(None, (line.partition("#")[0].strip() for line in text.splitlines())):
        if section_match := re.fullmatch(r"\[(\w+)\]", line):
            holds = PersonalData(section_match[1])
            continue
        table, colon, names = line.partition(":")
        if not colon or holds is None:
            raise ValueError(f"not a table with columns under a class: {line}")
        for name in names.split():
            if (table, name) in declared:
                raise ValueError(f"declared twice: {table}.{name}")
            declared[table, name] = holds
    return declared


COLUMNS = MappingProxyType(
    read_columns(files("headwater.privacy").joinpath("columns.txt").read_text(encoding="utf-8"))
)


def list_personal_columns(table: str) -> list[str]:
    return [
        column
        for (owner, column), holds in COLUMNS.items()
        if owner == table and holds is PersonalData.PERSONAL
    ]
