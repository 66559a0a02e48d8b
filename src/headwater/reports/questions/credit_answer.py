"""The events behind a figure as JSON and as CSV. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from headwater.attribution.fits.choice import CITATION_OR_NULL, cite
from headwater.http.csv_table import CsvTable
from headwater.http.inputs.instants import written_in_utc
from headwater.http.inputs.pagination import Page, PageLink, envelope, envelope_schema
from headwater.http.openapi import (
    MOMENT,
    NUMBER_OR_NULL,
    TEXT,
    TEXT_OR_NULL,
    WHOLE,
    WHOLE_OR_NULL,
    object_schema,
)
from headwater.reports.credit_models import CreditFilter, CreditsPage, CreditsQuery, EventCredit, TouchCredit
from headwater.reports.left_out_money import LEFT_OUT_MONEY, left_out_answer
from headwater.reports.models import NoCredit
from headwater.reports.report_answer import DATES, in_digits, number, written_span

_TO = " > "
_OF_EVENT = (
    "event_id",
    "event_time_utc",
    "event_name",
    "configured_name",
    "contact_id",
    "contact_name",
    "company_id",
    "company_name",
    "order_id",
    "amount",
    "credited_events",
    "credited_revenue",
    "unattributed_reason",
    "original_amount",
    "original_currency",
)
_OF_TAGS = (
    "campaign_id",
    "campaign_name",
    "adset_id",
    "adset_name",
    "ad_id",
    "ad_name",
    "keyword",
    "landing_page",
)


def credits_answer(query: CreditsQuery, page: CreditsPage, link: PageLink, hints: Mapping[str, Any]) -> bytes:
    """Return a page as JSON, with hints on its filters."""
    lines = [msgspec.json.encode(_row(row)).decode() for row in page.rows]
    totals = page.totals
    return envelope(
        Page(lines, page.next, page.previous),
        query.per_page,
        link,
        {
            "totals": {
                "events": totals.events,
                "amount": number(totals.amount),
                "credited_events": number(totals.credited_events),
                "credited_revenue": number(totals.credited_revenue),
            },
            "credit": str(page.credit),
            "period": written_span(page.span),
            "timezone": page.timezone,
            "currency": page.currency,
            "left_out_money": left_out_answer(page.left_out_money),
            "attribution_model": query.model,
            "attribution_window": query.window_days,
            "query_mode": "company" if query.by_company else "profile",
            "date_basis": str(query.date_basis),
            "fit": page.fit and cite(page.fit),
            **hints,
        },
    )


def credits_csv(page: CreditsPage) -> bytes:
    """Return the events of a page as CSV, the sources of their touches in one column."""
    table = CsvTable([*_OF_EVENT, "touches"])
    for row in page.rows:
        cells = [_cell(value) for value in _of_event(row).values()]
        table.add([*cells, _TO.join(touch.source for touch in row.touches)])
    return table.content()


def _cell(value: str | float | None) -> str | None:
    return in_digits(value) if isinstance(value, int | float) else value


def _row(row: EventCredit) -> dict[str, Any]:
    touches = [_touch(touch) for touch in row.touches]
    return {**_of_event(row), "touches": touches, "left_out": row.left_out}


def _of_event(row: EventCredit) -> dict[str, str | float | None]:
    values = (
        row.event_id,
        written_in_utc(row.event_time),
        row.event_name,
        row.configured_name,
        row.contact_id,
        row.contact_name,
        row.company_id,
        row.company_name,
        row.order_id,
        number(row.amount),
        number(row.credited_events),
        number(row.credited_revenue),
        row.reason,
        number(row.original_amount),
        row.original_currency,
    )
    return dict(zip(_OF_EVENT, values, strict=True))


def _touch(touch: TouchCredit) -> dict[str, str | float | None]:
    return {
        "event_time_utc": written_in_utc(touch.occurred_at),
        "source": touch.source,
        "channel": touch.channel,
        **{name: getattr(touch.tags, name) for name in _OF_TAGS},
        "credited_events": number(touch.credited_events),
        "credited_revenue": number(touch.credited_revenue),
    }


_NUMBER = {"type": "number"}
_TOUCH = object_schema(
    {
        "event_time_utc": MOMENT,
        "source": TEXT,
        "channel": TEXT,
        **dict.fromkeys(_OF_TAGS, TEXT_OR_NULL),
        "credited_events": _NUMBER,
        "credited_revenue": _NUMBER,
    }
)
_ROW = object_schema(
    {
        "event_id": WHOLE,
        "event_time_utc": MOMENT,
        "event_name": TEXT,
        "configured_name": TEXT,
        "contact_id": WHOLE,
        "contact_name": {**TEXT_OR_NULL, "description": "The name, if one is known."},
        "company_id": WHOLE_OR_NULL,
        "company_name": TEXT_OR_NULL,
        "order_id": TEXT_OR_NULL,
        "amount": NUMBER_OR_NULL,
        "credited_events": {**_NUMBER, "description": "The credited part of the event."},
        "credited_revenue": {**_NUMBER, "description": "The credited part of its amount."},
        "unattributed_reason": {"enum": [*map(str, NoCredit), None]},
        "original_amount": {**NUMBER_OR_NULL, "description": "The amount as it was reported."},
        "original_currency": {**TEXT, "description": "The currency in which it was reported."},
        "touches": {
            "type": "array",
            "items": _TOUCH,
            "description": "The touchpoints whose credit counts; both ends of many.",
        },
        "left_out": {**WHOLE, "description": "Touchpoints that are not listed."},
    }
)
CREDITS = envelope_schema(
    _ROW,
    {
        "totals": {
            **object_schema(
                {"events": WHOLE, "amount": _NUMBER, "credited_events": _NUMBER, "credited_revenue": _NUMBER}
            ),
            "description": "Of all pages together.",
        },
        "credit": {"type": "string", "enum": [str(credit) for credit in CreditFilter]},
        "period": DATES,
        "timezone": TEXT,
        "currency": TEXT,
        "left_out_money": LEFT_OUT_MONEY,
        "attribution_model": TEXT,
        "attribution_window": WHOLE,
        "query_mode": TEXT,
        "date_basis": TEXT,
        "fit": CITATION_OR_NULL,
    },
)
"""The JSON schema of the answer."""
