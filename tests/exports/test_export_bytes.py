"""Exports of a varied Space are byte for byte the same as when `tests/data/exports.ndjson` was recorded;
`HEADWATER_RECORD_EXPORTS=1` records it again.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

from headwater.attribution.models import MODELS
from headwater.events.fields import FIELDS
from tests.support.exports import Exports
from tests.support.factories import Stage
from tests.support.trained_models import plant_trained_model

T = TypeVar("T")

RECORDED = Path(__file__).parents[1] / "data" / "exports.ndjson"
DAY = datetime(2026, 5, 13, tzinfo=UTC)
CREATED = {"start_date": "2026-05-01 00:00:00", "end_date": "2026-05-31 23:59:59"}
MONEY = ["amount", "currency", "amount_in_space_currency"]
PLAIN = [name for name, field in FIELDS.items() if not field.needs_sources and name not in MONEY[1:]]
SOURCES = ["google_ads", "direct", "email", "facebook_ads", "referral", "yelp"]
FRACTIONS = (0, 500_000, 50_000, 120_000, 123_000, 123_900, 999, 999_999, 10)
AMOUNTS = ("100", "99.99", None, "0", "-25.5", "0.0001", "33.3330", "7", "1234567890.1250")
TEXTS = (None, "", 'a "quoted\\one"\n', "Größe 漢字 🛒 \u2028", "\x01\x02\x03\x1f\x7f\t", "null", "0")
ADS: tuple[dict[str, str], ...] = (
    {},
    {"campaign_id": "7", "adset_id": "71", "ad_id": "711", "account_id": "act_1"},
    {"campaign_name": 'Spring "26"\\', "campaign_id": "8"},
    {"ad_name": "Größe", "adset_name": "\t", "account_name": "A & B"},
)


def test_it_works(stage: Stage, exports: Exports) -> None:
    _fill(stage)
    plant_trained_model(stage.connection, stage.space_id, "May", "purchase", {"google_ads": 3, "email": 2})
    files = "".join(
        f"{json.dumps([kind, body])}\n{_lines(exports, kind, body)}" for kind, body in _requests()
    ).replace(f'"space_id":"{stage.space_id}"', '"space_id":"1"')
    if os.environ.get("HEADWATER_RECORD_EXPORTS"):
        RECORDED.write_text(files, encoding="utf-8", newline="")
    assert files.encode() == RECORDED.read_bytes()


def _requests() -> list[tuple[str, dict[str, Any]]]:
    day = {"date": "2026-05-13"}
    credited_body = {**day, "sources": SOURCES[:5], "attribution_model": "linear"}
    bodies: list[dict[str, Any]] = [
        day,
        {**day, "fields": PLAIN},
        {**day, "fields": ["amount"], "event_names": ["sign_up", "custom_event_3"]},
        {**credited_body, "attribution_window": 0, "fields": list(FIELDS)[4:-2]},
        {**credited_body, "attribution_window": 7, "query_mode": "company", "fields": ["ad_name"]},
        {**credited_body, "attribution_window": 30, "sources": ["yelp"], "fields": ["configured_name"]},
    ]
    bodies += [
        {**credited_body, "attribution_window": 7, "attribution_model": model, "fields": ["amount"]}
        for model in MODELS
    ]
    bodies += [{**day, "fields": MONEY}, {**credited_body, "attribution_window": 0, "fields": MONEY}]
    return [
        *(("events", body) for body in bodies),
        ("contacts", {**CREATED, "include_trk_tokens": True}),
        ("companies", CREATED),
    ]


def _lines(exports: Exports, kind: str, body: dict[str, Any]) -> str:
    export_id = exports.ask(kind, **body)
    exports.work()
    link = exports.status(export_id, kind)["download_url"]
    return gzip.decompress(exports.fetch(link).content).decode()


def _fill(stage: Stage) -> None:
    """Fill a Space with the same ids, times and texts each time."""
    for number, name in enumerate(("Acme", 'B "quoted" \\ GmbH', "漢字")):
        stage.company(
            id=10 + number, name=name, domain=None if number else "acme.example",
            created_at=_moment(number),
        )  # fmt: skip
    for number in range(5):
        stage.contact(
            id=100 + number, company_id=10 if number < 2 else None, created_at=_moment(number),
            name=_pick(TEXTS, number + 2), profile_field_1=_pick(TEXTS, number),
            profile_field_16=_amount(number), profile_field_26=_moment(number),
        )  # fmt: skip
        stage.identifier(100 + number, "email", f"person{number}@example.org")
        stage.identifier(100 + number, "trk_token", f"token-{number}")
    stage.label_event("sign_up", 'Signed "up"')
    stage.ad("campaign", "7", "Named by the catalogue")
    stage.ad("ad", "711", "An ad\nof two lines")
    for number in range(20):
        stage.touchpoint(
            100 + number % 5, _pick(SOURCES, number * number % 11), id=1000 + number,
            company_id=10 if number % 5 < 2 else None,
            occurred_at=DAY - timedelta(hours=number % 16 * 7) + timedelta(hours=11),
            **_pick(ADS, number),
        )  # fmt: skip
    for number in range(14):
        stage.event(
            100 + number % 5, id=2000 + number, company_id=10 if number % 5 < 2 else None,
            event_name=_pick(("purchase", "sign_up", "custom_event_3"), number),
            event_time=_moment(number), amount=_amount(number), is_upsell=number % 4 == 3,
            order_id=None if number % 3 else f"order-{number}", order_name=_pick(TEXTS, number),
            event_url=_pick(TEXTS, number + 3),
        )  # fmt: skip


def _moment(number: int) -> datetime:
    """Return a time of the day; several numbers get the same time."""
    return DAY + timedelta(
        hours=23 if number % 2 else 11, minutes=number // 3, microseconds=_pick(FRACTIONS, number)
    )


def _amount(number: int) -> Decimal | None:
    text = _pick(AMOUNTS, number)
    return None if text is None else Decimal(text)


def _pick(values: Sequence[T], number: int) -> T:
    return values[number % len(values)]
