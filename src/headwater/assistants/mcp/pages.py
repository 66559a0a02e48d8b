"""Pages of lists as assistants get them: rows and the next cursor, nothing of the web."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from headwater.http.inputs.pagination import CURSOR, Cursors, Page, page_size
from headwater.http.inputs.parameters import JsonInput

MOST_ROWS = 200

PER_PAGE = page_size(MOST_ROWS, 50, f"Rows of a page, at most {MOST_ROWS}.")
NEXT_PAGE = replace(CURSOR, description="The next_cursor of the page before.")
PAGING = (PER_PAGE, NEXT_PAGE)


def paged(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments with the number of rows that a page has. Raises Invalid for too many."""
    query = JsonInput({PER_PAGE.name: arguments.get(PER_PAGE.name)})
    most = PER_PAGE.read(query)
    query.finish()
    return {**arguments, PER_PAGE.name: most}


def page_answer(page: Page, cursors: Cursors) -> dict[str, Any]:
    """Return a page of a list as a tool's answer. Rows leave out null members, because most are null."""
    rows = [filled(msgspec.json.decode(line)) for line in page.lines]
    return {"rows": rows, "next_cursor": cursors.write(page.next) if page.next else None}


def filled(row: dict[str, Any]) -> dict[str, Any]:
    """The members of a row that are not null."""
    return {name: value for name, value in row.items() if value is not None}
