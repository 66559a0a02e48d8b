"""Notices, before a channel is chosen for them."""

from __future__ import annotations

import msgspec


class ReportTable(msgspec.Struct, frozen=True, kw_only=True):
    """A small table."""

    columns: list[str]
    rows: list[list[str]]


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """A notification: figures and words, without data of any contact."""

    subject: str
    headline: str
    paragraphs: list[str] = []
    table: ReportTable | None = None
    link: str
    """The address of the page, without the service's own."""
    link_text: str = "See what to do"
    file_name: str | None = None
    file: str | None = None
    """A CSV file."""
