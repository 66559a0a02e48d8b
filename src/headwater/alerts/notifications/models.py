from __future__ import annotations

import msgspec


class ReportTable(msgspec.Struct, frozen=True, kw_only=True):
    columns: list[str]
    rows: list[list[str]]


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """A notification: figures and words, without data of any contact."""

    subject: str
    headline: str
    paragraphs: list[str] = []
    table: ReportTable | None = None
    link: str
    """The path of the page, after the service's address."""
    link_text: str = "See what to do"
    file_name: str | None = None
    file: str | None = None
