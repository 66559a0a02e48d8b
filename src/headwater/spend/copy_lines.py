"""Rows of the ledger as COPY takes them: what the rows of a place in an ad account have in common
is written once, and a row adds its day, its figures and its number. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import NamedTuple

from headwater.spend.models import FIGURES, SpendRow

NULL = r"\N"
_ESCAPES = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"})


class SpendPlace(NamedTuple):
    """The part that rows of one place and one report have in common."""

    text: str
    """The columns of `arriving_spend` up to `as_of`, in its order."""
    platform: str
    names: tuple[tuple[str, str, str], ...]
    """What ids of it are called: the kind, the id and the name."""


class SpendLine(NamedTuple):
    """A row of the ledger."""

    place: SpendPlace
    text: str
    """The whole line, with its end."""


def place_of(row: SpendRow) -> SpendPlace:
    """Return the place of a row."""
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
    return SpendPlace("\t".join(cells), row.platform, row.names)


def join(place: SpendPlace, day: str, figures: str, number: int) -> SpendLine:
    """Return a row: `figures` are those of FIGURES, with tabs between, `number` is its place in the
    report.
    """
    return SpendLine(place, f"{place.text}\t{day}\t{figures}\t{number}\n")


def line_of(row: SpendRow) -> SpendLine:
    """Return a row of the ledger as a line."""
    figures = join_figures(getattr(row, name) for name in FIGURES)
    return join(place_of(row), str(row.date), figures, row.place)


def join_figures(figures: Iterable[Decimal | int | None]) -> str:
    """Return figures as cells with tabs between."""
    return "\t".join(NULL if figure is None else str(figure) for figure in figures)


def _text(cell: str | None) -> str:
    return NULL if cell is None else cell.translate(_ESCAPES)
