"""The columns of files and their types equal those in the API and the documentation."""

from __future__ import annotations

import re

from headwater.database.json_lines import ColumnType
from headwater.events.answers import ListedEvent
from headwater.events.fields import FIELDS, columns
from headwater.http.answers import inline_schema
from headwater.people.companies.export_lines import COLUMNS as COMPANY_COLUMNS
from headwater.people.contacts.export_lines import COLUMNS as CONTACT_COLUMNS
from headwater.people.contacts.export_lines import TRK_TOKENS
from tests.support.sizes import ROOT

PAGE = (ROOT / "docs" / "exports.md").read_text()


def documented_columns(title: str) -> dict[str, str]:
    """Return the columns and types of a table in the documentation, below a heading."""
    text = re.split(r"^#+ ", PAGE.partition(f"# {title}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
    rows = re.findall(r"^\| ((?:`\w+`[^|]*)) \| ([^|]+) \|", text, re.MULTILINE)
    return {name: kind for names, kind in rows for name in _names(names)}


def _names(text: str) -> list[str]:
    span = re.fullmatch(r"`(\w+_)(\d+)` to `\w+_(\d+)`", text)
    if span is None:
        return re.findall(r"`(\w+)`", text)
    return [f"{span[1]}{number}" for number in range(int(span[2]), int(span[3]) + 1)]


def test_it_works() -> None:
    tokens = (*CONTACT_COLUMNS[:5], TRK_TOKENS, *CONTACT_COLUMNS[5:])
    for title, column_list in (
        ("Columns of events", columns(FIELDS)),
        ("Columns of contacts", tokens),
        ("Columns of companies", COMPANY_COLUMNS),
    ):
        assert documented_columns(title) == {column.name: str(column.type) for column in column_list}, title
    assert re.findall(r"^\| ([a-z ]+) \| [^|]+\| [^|]+\| `[A-Z]", PAGE, re.MULTILINE) == [
        str(column_type) for column_type in ColumnType
    ]


def test_types_are_those_of_the_schemas() -> None:
    names = {
        ColumnType.WHOLE: "integer", ColumnType.AMOUNT: "number", ColumnType.BOOLEAN: "boolean",
        ColumnType.TEXT: "string", ColumnType.MOMENT: "string",
    }  # fmt: skip
    schemas = inline_schema(ListedEvent)["properties"]
    assert list(schemas) == list(FIELDS)
    for name, field in FIELDS.items():
        schema = schemas[name]
        variants = schema.get("anyOf", [schema])
        kinds = [kind for variant in variants for kind in _as_list(variant.get("type", "string"))]
        assert names[field.type] in kinds, name
        assert (field.type is ColumnType.MOMENT) == (
            "date-time" in [variant.get("format") for variant in variants]
        )


def _as_list(kinds: str | list[str]) -> list[str]:
    return [kinds] if isinstance(kinds, str) else kinds
