"""Readers of URLs and of tables of links, which anyone can write."""

from __future__ import annotations

from headwater.console.link_pages.link_sheet import read_sheet, write_sheet
from headwater.console.link_pages.sources import LONGEST_ADDRESS
from headwater.console.live_pages.arrival_lines import _page as page_of_line
from headwater.sources.exclusions import SHIPPED
from headwater.sources.explanation import explain_visit
from headwater.sources.links.address_notes import note_address
from headwater.sources.links.link_checks import check_host, check_link
from headwater.sources.links.links import LinkParts, build_link
from headwater.sources.source_names import SHIPPED_ALONE
from tests.hostile.growth import Door

KB = 1024
FIELD = 2048


def _build_link(text: str) -> object:
    parts = LinkParts("email", text)
    notes = check_link(text, parts, explain_visit(text, None), SHIPPED_ALONE, [text])
    return notes, check_host(text, [text]), build_link(text, parts)


def _sheet(text: str) -> bytes:
    return write_sheet(read_sheet(text, LinkParts("email"), SHIPPED, SHIPPED_ALONE))


LINK_DOORS = [
    Door("address_notes", note_address, LONGEST_ADDRESS),
    Door("live.page", page_of_line, FIELD),
    Door("visit", lambda text: explain_visit(text, text), LONGEST_ADDRESS),
    Door("links", _build_link, FIELD),
    Door("links.sheet", _sheet, 64 * KB),
]
