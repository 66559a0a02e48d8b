"""Pages of lists: rows and the next cursor, without links."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from headwater.http.inputs.pagination import CURSOR, Cursors, Page, page_size
from headwater.http.inputs.parameters import JsonInput

MOST_ROWS = 200

PER_PAGE = page_size(MOST_ROWS, 50, f"Rows of a page, at most {MOST_ROWS}.")
NEXT_PAGE = replace(CURSOR, description="The previous page's next_cursor.")
PAGING = (PER_PAGE, NEXT_PAGE)


def paged(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return arguments with the rows per page. Raise Invalid for too many."""
    query = JsonInput({PER_PAGE.name: arguments.get(PER_PAGE.name)})
    per_page = PER_PAGE.read(query)
    query.finish()
    return {**arguments, PER_PAGE.name: per_page}


def page_answer(page: Page, cursors: Cursors) -> dict[str, Any]:
    """Return an answer. Rows omit null members because most are null."""
    rows = [filled(msgspec.json.decode(line)) for line in page.lines]
    return {"rows": rows, "next_cursor": cursors.write(page.next) if page.next else None}


def filled(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}
