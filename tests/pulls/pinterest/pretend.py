"""A fake Pinterest: lists with bookmarks, and analytics as bare lists."""

from __future__ import annotations

from datetime import date
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.pulls.books import AdPlace, Books, Spent
from tests.pulls.tokens import PretendTokens
from tests.support.fake_platform import Answer
from tests.support.wire import ReceivedRequest


def error(status: int, code: int, message: str, **headers: str) -> Answer:
    return Answer(status, {"code": code, "message": message}, headers)


class PretendPinterest:
    def __init__(self, books: Books, *, rotates: bool = False) -> None:
        self.books = books
        self.tokens = PretendTokens(basic=True, rotates=rotates)
        self.archived = {"12"}
        self.oldest = date.min
        """The first day that can still be reported."""

    def __call__(self, request: ReceivedRequest) -> Answer:
        parts = urlsplit(request.target)
        query = parse_qs(parts.query)
        if parts.path == "/v5/oauth/token":
            return self.tokens.answer(request)
        if not self.tokens.accepts(request):
            return error(401, 2, "Authentication failed.")
        account = f"/v5/ad_accounts/{self.books.account}"
        match parts.path.removeprefix(account):
            case "":
                return Answer(
                    body={
                        "id": self.books.account,
                        "name": self.books.name,
                        "currency": self.books.currency,
                        "country": "DE",
                    }
                )
            case "/campaigns" | "/ads" as path:
                return self._list(path.strip("/s"), query)
            case "/campaigns/analytics" | "/ads/analytics" as path:
                return self._analytics(path.split("/")[1].strip("s"), query)
            case _:
                return error(404, 50, "Ad account not found.")

    def _list(self, level: str, query: dict[str, list[str]]) -> Answer:
        left_out = set[str]() if "ARCHIVED" in query["entity_statuses"] else self.archived
        places = {ad_place for _, ad_place in self.books.figures if ad_place.campaign not in left_out}
        items = [
            self._item(level, ad_place) for ad_place in sorted(places) if level == "campaign" or ad_place.ad
        ]
        unique = list({item["id"]: item for item in items}.values())
        start, size = int(query.get("bookmark", ["0"])[0]), int(query["page_size"][0])
        bookmark = str(start + size) if start + size < len(unique) else None
        return Answer(body={"items": unique[start : start + size], "bookmark": bookmark})

    def _item(self, level: str, ad_place: AdPlace) -> dict[str, Any]:
        if level == "campaign":
            return {"id": ad_place.campaign, "name": self.books.find_name(ad_place.campaign)}
        return {
            "id": ad_place.ad,
            "name": self.books.find_name(ad_place.ad),
            "campaign_id": ad_place.campaign,
            "ad_group_id": ad_place.adset,
        }

    def _analytics(self, level: str, query: dict[str, list[str]]) -> Answer:
        first, last = (date.fromisoformat(query[name][0]) for name in ("start_date", "end_date"))
        ids = query[f"{level}_ids"]
        assert query["granularity"] == ["DAY"]
        if len(ids) > 250 or (last - first).days > 90 or first < self.oldest:
            return error(400, 1, "Invalid ad account campaign analytics parameters.")
        rows = self.books.ad_rows(first, last) if level == "ad" else self.books.campaign_rows(first, last)
        items = [self._row(row, level) for row in rows]
        return Answer(body=[item for item in items if item[f"{level.upper()}_ID"] in ids])

    def _row(self, row: tuple[date, AdPlace, Spent], level: str) -> dict[str, Any]:
        day, ad_place, spent = row
        item: dict[str, Any] = {
            f"{level.upper()}_ID": ad_place.ad if level == "ad" else ad_place.campaign,
            "DATE": str(day),
            "SPEND_IN_MICRO_DOLLAR": int(spent.amount * 1_000_000),
            "PAID_IMPRESSION": spent.impressions,
        }
        return item | ({"TOTAL_CLICKTHROUGH": spent.clicks} if spent.clicks else {})
