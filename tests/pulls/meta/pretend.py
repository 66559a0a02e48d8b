"""A fake Meta: insights of one ad account, in pages, as documented for its Marketing API."""

from __future__ import annotations

from datetime import date
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec

from tests.pulls.books import AdPlace, Books, Spent
from tests.support.fake_platform import Answer
from tests.support.wire import ReceivedRequest

TOKEN = "EAAB-a-token-of-a-system-user"


def error(code: int, message: str, subcode: int | None = None, status: int = 400) -> Answer:
    body = {"message": message, "type": "OAuthException", "code": code, "fbtrace_id": "A1b2"}
    return Answer(status, {"error": body if subcode is None else body | {"error_subcode": subcode}})


class PretendMeta:
    def __init__(self, books: Books, token: str = TOKEN) -> None:
        self.books, self.token = books, token

    def __call__(self, request: ReceivedRequest) -> Answer:
        parts = urlsplit(request.target)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if request.headers.get("authorization") != f"Bearer {self.token}":
            return error(190, "Invalid OAuth access token - Cannot parse access token")
        account = f"/v26.0/act_{self.books.account}"
        if parts.path == account:
            return Answer(body=self._account())
        if parts.path == f"{account}/insights":
            return Answer(body=self._insights(query))
        return error(100, "Unsupported get request. Object does not exist", 33)

    def _account(self) -> dict[str, Any]:
        books = self.books
        return {
            "currency": books.currency,
            "timezone_name": books.timezone,
            "name": books.name,
            "account_status": 1,
            "id": f"act_{books.account}",
        }

    def _insights(self, query: dict[str, str]) -> dict[str, Any]:
        days = msgspec.json.decode(query["time_range"])
        first, last = date.fromisoformat(days["since"]), date.fromisoformat(days["until"])
        assert query["time_increment"] == "1"
        is_ad = query["level"] == "ad"
        (condition,) = msgspec.json.decode(query.get("filtering", "[{}]"))
        is_filtered = condition.get("field") == f"{query['level']}.effective_status"
        has_deleted = is_filtered and "DELETED" in condition["value"]
        rows = self.select(first, last, is_ad=is_ad, has_deleted=has_deleted)
        start, size = int(query.get("after", "0")), int(query["limit"])
        page: dict[str, Any] = {
            "data": [self._row(*row, is_ad=is_ad) for row in rows[start : start + size]],
            "paging": {"cursors": {"before": str(start), "after": str(start + size)}},
        }
        if start + size < len(rows):
            page["paging"]["next"] = f"https://graph.facebook.com/next?access_token={self.token}"
        return page

    def select(
        self, first_day: date, last_day: date, *, is_ad: bool, has_deleted: bool
    ) -> list[tuple[date, AdPlace, Spent]]:
        books = self.books if has_deleted else self.books.without_deleted()
        return books.ad_rows(first_day, last_day) if is_ad else books.campaign_rows(first_day, last_day)

    def _row(self, day: date, ad_place: AdPlace, figures: Spent, *, is_ad: bool) -> dict[str, Any]:
        row: dict[str, Any] = {
            "campaign_id": ad_place.campaign,
            "campaign_name": self.books.find_name(ad_place.campaign),
            "date_start": str(day),
            "date_stop": str(day),
            "impressions": str(figures.impressions),
            "spend": f"{figures.amount:f}",
        }
        if is_ad:
            row |= {"adset_id": ad_place.adset, "adset_name": self.books.find_name(ad_place.adset)}
            row |= {"ad_id": ad_place.ad, "ad_name": self.books.find_name(ad_place.ad)}
        if figures.clicks:
            row["clicks"] = str(figures.clicks)
        if figures.conversions:
            row["actions"] = [
                {"action_type": "link_click", "value": "20"},
                {"action_type": "omni_purchase", "value": str(figures.conversions)},
            ]
            row["action_values"] = [{"action_type": "omni_purchase", "value": f"{figures.revenue:f}"}]
        return row
