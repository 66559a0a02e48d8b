"""A fake TikTok: reports of one advertiser in pages, always with HTTP 200."""

from __future__ import annotations

from datetime import date
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec

from tests.pulls.books import AdPlace, Books, Spent
from tests.support.fake_platform import Answer
from tests.support.wire import ReceivedRequest

TOKEN = "0a1b2c3d4e5f60718293a4b5c6d7e8f9a0b1c2d3"


def error(code: int, message: str, **headers: str) -> Answer:
    return Answer(body={"code": code, "message": message, "request_id": "2026112512000001"}, headers=headers)


def success(data: dict[str, Any]) -> Answer:
    return Answer(body={"code": 0, "message": "OK", "request_id": "2026112512000002", "data": data})


class PretendTikTok:
    def __init__(self, books: Books) -> None:
        self.books = books

    def __call__(self, request: ReceivedRequest) -> Answer:
        parts = urlsplit(request.target)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if request.headers.get("access-token") != TOKEN:
            return error(40105, "Access token is incorrect or has been revoked.")
        match parts.path:
            case "/open_api/v1.3/advertiser/info/":
                return self._account(msgspec.json.decode(query["advertiser_ids"]))
            case "/open_api/v1.3/report/integrated/get/":
                return self._report(query)
            case _:
                return Answer(404, b"404 page not found")

    def _account(self, advertiser_ids: list[str]) -> Answer:
        books = self.books
        if advertiser_ids != [books.account]:
            return error(40001, f"No permission to operate advertiser {advertiser_ids[0]}.")
        advertiser = {"name": books.name, "currency": books.currency, "timezone": books.timezone}
        return success({"list": [advertiser]})

    def _report(self, query: dict[str, str]) -> Answer:
        first, last = date.fromisoformat(query["start_date"]), date.fromisoformat(query["end_date"])
        if (last - first).days >= 30:
            return error(40002, "start_date, end_date: The time span is limited to 30 days.")
        assert (query["service_type"], query["report_type"]) == ("AUCTION", "BASIC")
        level = {"AUCTION_AD": "ad", "AUCTION_CAMPAIGN": "campaign"}[query["data_level"]]
        assert msgspec.json.decode(query["dimensions"]) == [f"{level}_id", "stat_time_day"]
        metrics = msgspec.json.decode(query["metrics"])
        (condition,) = msgspec.json.decode(query.get("filtering", "[{}]"))
        has_deleted = condition == {
            "field_name": f"{level}_status",
            "filter_type": "IN",
            "filter_value": '["STATUS_ALL"]',
        }
        books = self.books if has_deleted else self.books.without_deleted()
        rows = books.ad_rows(first, last) if level == "ad" else books.campaign_rows(first, last)
        page, size = int(query["page"]), int(query["page_size"])
        info = {
            "page": page,
            "page_size": size,
            "total_number": len(rows),
            "total_page": -(-len(rows) // size),
        }
        items = [self._row(row, level, metrics) for row in rows[(page - 1) * size : page * size]]
        return success({"list": items, "page_info": info})

    def _row(self, row: tuple[date, AdPlace, Spent], level: str, metrics: list[str]) -> dict[str, Any]:
        day, ad_place, spent = row
        values = {
            "spend": f"{spent.amount:f}",
            "impressions": str(spent.impressions),
            "clicks": str(spent.clicks),
            "campaign_id": ad_place.campaign,
            "campaign_name": self.books.find_name(ad_place.campaign),
            "adgroup_id": ad_place.adset,
            "adgroup_name": self.books.find_name(ad_place.adset),
            "ad_name": self.books.find_name(ad_place.ad),
        }
        level_id = ad_place.ad if level == "ad" else ad_place.campaign
        return {
            "dimensions": {f"{level}_id": level_id, "stat_time_day": f"{day} 00:00:00"},
            "metrics": {name: values[name] for name in metrics},
        }
