"""Links between the pages of a period keep it; other pages have periods of their own."""

from __future__ import annotations

import re

import pytest

from tests.console.conftest import Person

WEEK = "period=last_7_days"
OWN_DATES = "start_date=2026-05-01&end_date=2026-05-31"


def find_links(page: str, space_id: int) -> dict[str, set[str]]:
    """Return the queries of the links to each page of the Space."""
    links: dict[str, set[str]] = {}
    navigation = "".join(re.findall(r"<nav .*?</nav>", page, re.DOTALL))
    for end, query in re.findall(rf'href="/console/spaces/{space_id}([^"?]*)(\?[^"]*)?"', navigation):
        links.setdefault(end, set()).add(query.replace("&amp;", "&").removeprefix("?"))
    return links


@pytest.mark.parametrize("query", [WEEK, OWN_DATES])
def test_it_works(owner: Person, space_id: int, query: str) -> None:
    for end in ("", "/channels", "/models", "/campaigns"):
        path = f"/console/spaces/{space_id}{end}?{query}&attribution_model=linear"
        links = find_links(owner.browser.get(path).text, space_id)
        assert {next_end: links[next_end] for next_end in ("", "/channels", "/campaigns")} == {
            "": {query}, "/channels": {query}, "/campaigns": {query},
        }  # fmt: skip
        assert links["/settings"] == links["/cohorts"] == links["/events"] == {""}


def test_other_pages_have_their_own(owner: Person, space_id: int) -> None:
    path = f"/console/spaces/{space_id}/spend?{OWN_DATES}"
    links = find_links(owner.browser.get(path).text, space_id)
    assert links["/channels"] == links["/campaigns"] == {""}
