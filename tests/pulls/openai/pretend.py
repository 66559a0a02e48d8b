"""A fake OpenAI: insights of one ad account in pages, as documented for its Ads API."""

from __future__ import annotations

from datetime import date
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec

from tests.pulls.books import AdPlace, Books, Spent
from tests.support.fake_platform import Answer
from tests.support.wire import ReceivedRequest

KEY = "a-key-of-ads-manager"


def error(status: int, message: str, code: str | None = None, **headers: str) -> Answer:
    body = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
    return Answer(status, {"error": body}, headers)


class PretendOpenAI:
    def __init__(self, books: Books, *, today: date | None = None) -> None:
        self.books, self.today = books, today
        self.is_prefixed = False
        """True if the names of metrics have their level as a prefix."""
        self.unit = 1
        """Amounts are in 1/`unit` of the currency: 1 or 1,000,000."""

    def __call__(self, request: ReceivedRequest) -> Answer:
        parts = urlsplit(request.target)
        if request.headers.get("authorization") != f"Bearer {KEY}":
            return error(401, "Incorrect API key provided.", "invalid_api_key")
        match parts.path:
            case "/v1/ad_account":
                return Answer(body=self._account())
            case "/v1/ad_account/insights":
                return self._insights(parse_qs(parts.query))
            case _:
                return error(404, "Not found")

    def _account(self) -> dict[str, Any]:
        books = self.books
        return {
            "id": books.account,
            "name": books.name,
            "timezone": books.timezone,
            "currency_code": books.currency,
        }

    def _insights(self, query: dict[str, list[str]]) -> Answer:
        if "fields[]" not in query:
            return error(400, "Invalid type for 'fields'.", "invalid_type")
        days = msgspec.json.decode(query["time_ranges[]"][0])
        first, last = date.fromisoformat(days["since"]), date.fromisoformat(days["until"])
        assert (days["type"], days["timezone"]) == ("date_range", self.books.timezone)
        assert query["time_granularity"] == ["daily"]
        if self.today is not None and last > self.today:
            return error(400, "time_ranges must not end in the future.", "invalid_value")
        level, size = query["aggregation_level"][0], int(query["limit"][0])
        if size > 2000:
            return error(400, "limit must be at most 2000.", "invalid_value")
        rows = self.books.ad_rows(first, last) if level == "ad" else self.books.campaign_rows(first, last)
        items = [self._row(row, level, query["fields[]"]) for row in rows]
        after = query.get("after", [""])[0]
        start = next((index + 1 for index, item in enumerate(items) if item["id"] == after), 0)
        page = items[start : start + size]
        return Answer(
            body={
                "object": "list",
                "data": page,
                "count": len(page),
                "first_id": page[0]["id"] if page else None,
                "last_id": page[-1]["id"] if page else None,
                "has_more": start + size < len(items),
            }
        )

    def _row(self, row: tuple[date, AdPlace, Spent], level: str, fields: list[str]) -> dict[str, Any]:
        day, ad_place, spent = row
        ids = {"campaign": ad_place.campaign, "ad_group": ad_place.adset, "ad": ad_place.ad}
        metrics = {
            "spend": float(spent.amount * self.unit) if self.unit == 1 else int(spent.amount * self.unit),
            "impressions": spent.impressions,
            "clicks": spent.clicks,
        }
        item: dict[str, Any] = {"id": f"start={day}:entity_id={ids[level]}", "start_time": 1777075200}
        for field in fields:
            kind, name = field.split(".")
            if field == "metadata.readable_time":
                item["readable_time"] = str(day)
            elif name in metrics:
                assert kind == level, "a metric of another level"
                item[f"{level}_{name}" if self.is_prefixed else name] = metrics[name]
            else:
                item[f"{kind}_{name}"] = ids[kind] if name == "id" else self.books.find_name(ids[kind])
        return item
