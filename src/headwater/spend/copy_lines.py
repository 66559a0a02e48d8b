"""Ledger rows as COPY text. Pure. The common columns of an ad's rows are written once."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import NamedTuple

from headwater.spend.models import FIGURES, SpendRow

NULL = r"\N"
_ESCAPES = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"})


class SpendPrefix(NamedTuple):
    """The common columns of rows of one ad, country, currency and report."""

    text: str
    """The columns of `arriving_spend` up to `as_of`, in order."""
    platform: str
    names: tuple[tuple[str, str, str], ...]
    """Names of its ids: the kind, the id and the name."""


class SpendLine(NamedTuple):
    prefix: SpendPrefix
    text: str


def format_prefix(row: SpendRow) -> SpendPrefix:
    cells = (
        rf"\\x{row.key().hex()}",
        *(
            _text(cell)
            for cell in (
                row.platform,
                row.account_id,
                row.campaign_id,
                row.adset_id,
                row.ad_id,
                row.country,
                row.currency,
                row.timezone,
                row.as_of and str(row.as_of),
            )
        ),
    )
    return SpendPrefix("\t".join(cells), row.platform, row.names)


def format_line(prefix: SpendPrefix, day: str, figures: str, number: int) -> SpendLine:
    """Return a line. `figures` are FIGURES separated by tabs, `number` is the row's index in the report."""
    return SpendLine(prefix, f"{prefix.text}\t{day}\t{figures}\t{number}\n")


def format_row(row: SpendRow) -> SpendLine:
    figures = join_figures(getattr(row, name) for name in FIGURES)
    return format_line(format_prefix(row), str(row.date), figures, row.place)


def join_figures(figures: Iterable[Decimal | int | None]) -> str:
    return "\t".join(NULL if figure is None else str(figure) for figure in figures)


def _text(cell: str | None) -> str:
    return NULL if cell is None else cell.translate(_ESCAPES)
