"""The reports of a pretend Meta and Google Ads: the spend of the sample ads, with today's part. An account of
the samples can be connected with tokens that begin with `pretend`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qs, urlsplit

from headwater.demo.journeys import Payload
from headwater.demo.money import spend_of_account
from headwater.demo.shops import SHOPS, AdAccount, Shop
from headwater.sources.ad_platforms import normalize_account

TOKEN_START = "pretend"  # noqa: S105 - the start of made-up tokens
_META = re.compile(r"/v[0-9.]+/act_([0-9]+)(/insights)?")
_GOOGLE = re.compile(r"/v[0-9]+/customers/([0-9]{10})/googleAds:search")
_DATE_RANGE = re.compile(r"BETWEEN '([-0-9]{10})' AND '([-0-9]{10})'")
_SECONDS_A_DAY = 86_400

Answer = tuple[int, Any]


def find_account(platform: str, number: str) -> tuple[Shop, AdAccount] | None:
    return next(
        (
            (shop, account)
            for shop in SHOPS
            for account in shop.accounts
            if account.platform == platform and normalize_account(account.id) == number
        ),
        None,
    )


def answer_meta(target: str, headers: Mapping[str, str]) -> Answer | None:
    """Return None for another path."""
    parts = urlsplit(target)
    match = _META.fullmatch(parts.path)
    if match is None:
        return None
    if not headers.get("Authorization", "").startswith(f"Bearer {TOKEN_START}"):
        return 400, {
            "error": {"message": "Invalid OAuth access token.", "type": "OAuthException", "code": 190}
        }
    shop_account = find_account("meta", match[1])
    if shop_account is None:
        message = f"Object with ID 'act_{match[1]}' does not exist"
        return 400, {"error": {"message": message, "code": 100, "error_subcode": 33}}
    shop, account = shop_account
    if match[2] is None:
        return 200, {
            "id": f"act_{match[1]}",
            "name": f"{shop.slug} ads",
            "currency": account.currency,
            "timezone_name": account.timezone,
            "account_status": 1,
        }
    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
    days = json.loads(query["time_range"])
    rows = _rows(shop, account, days["since"], days["until"])
    data = [] if query["level"] == "ad" else [_meta_row(row) for row in rows]
    return 200, {"data": data, "paging": {}}


def _meta_row(row: Payload) -> dict[str, Any]:
    purchases = [{"action_type": "omni_purchase", "value": str(row["platform_conversions"])}]
    values = [{"action_type": "omni_purchase", "value": row["platform_revenue"]}]
    return {
        "campaign_id": row["campaign_id"],
        "campaign_name": row.get("campaign_name") or row["campaign_id"],
        "date_start": row["date"],
        "date_stop": row["date"],
        "impressions": str(row["impressions"]),
        "clicks": str(row["clicks"]),
        "spend": row["amount"],
        "actions": purchases,
        "action_values": values,
    }


def answer_google(target: str, headers: Mapping[str, str], body: bytes) -> Answer | None:
    """Return None for another path."""
    match = _GOOGLE.fullmatch(urlsplit(target).path)
    if match is None:
        return None
    shop_account = find_account("google", match[1])
    if shop_account is None or not headers.get("developer-token"):
        return 403, _google_error("PERMISSION_DENIED", "authorizationError", "USER_PERMISSION_DENIED")
    shop, account = shop_account
    customer = {
        "resourceName": f"customers/{match[1]}",
        "id": match[1],
        "descriptiveName": f"{shop.slug} ads",
        "currencyCode": account.currency,
        "timeZone": account.timezone,
    }
    question: str = json.loads(body)["query"]
    days = _DATE_RANGE.search(question)
    if days is None:
        return 200, {"results": [{"customer": customer}]}
    if "FROM campaign" not in question:
        return 200, {"results": []}
    rows = _rows(shop, account, days[1], days[2])
    return 200, {"results": [{"customer": customer, **_google_row(row)} for row in rows]}


def _google_row(row: Payload) -> dict[str, Any]:
    return {
        "campaign": {"id": row["campaign_id"], "name": row.get("campaign_name") or row["campaign_id"]},
        "segments": {"date": row["date"]},
        "metrics": {
            "costMicros": str(int(Decimal(row["amount"]) * 1_000_000)),
            "impressions": str(row["impressions"]),
            "clicks": str(row["clicks"]),
            "conversions": row["platform_conversions"],
            "conversionsValue": float(row["platform_revenue"]),
        },
    }


def _google_error(status: str, kind: str, code: str) -> dict[str, Any]:
    failure = {"errors": [{"errorCode": {kind: code}, "message": "The caller does not have permission."}]}
    return {
        "error": {
            "code": 403,
            "message": "The caller does not have permission",
            "status": status,
            "details": [failure],
        }
    }


def _rows(shop: Shop, account: AdAccount, first: str, last: str) -> list[Payload]:
    """Return the campaigns of some days. Today's figures cover only the hours that have passed."""
    current_time = datetime.now(UTC)
    today = f"{current_time.date()}"
    return [
        _part(row, current_time) if row["date"] == today else row
        for row in spend_of_account(shop, account, current_time)
        if "campaign_id" in row and first <= row["date"] <= last
    ]


def _part(row: Payload, current_time: datetime) -> Payload:
    day_start = datetime.combine(date.fromisoformat(row["date"]), datetime.min.time(), UTC)
    share = Decimal(int((current_time - day_start).total_seconds())) / _SECONDS_A_DAY
    counts: Payload = {
        name: int(row[name] * share) for name in ("impressions", "clicks", "platform_conversions")
    }
    money: Payload = {name: f"{(Decimal(row[name]) * share):.2f}" for name in ("amount", "platform_revenue")}
    return {**row, **counts, **money}
