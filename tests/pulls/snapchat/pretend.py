"""A fake Snap: statistics of one ad account by day, and lists in pages with links to the next page."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit
from zoneinfo import ZoneInfo

from tests.pulls.books import Books, Spent
from tests.pulls.tokens import PretendTokens
from tests.support.fake_platform import Answer
from tests.support.wire import ReceivedRequest


def error(status: int, code: str, message: str, **headers: str) -> Answer:
    body = {"request_status": "ERROR", "debug_message": message, "error_code": code}
    return Answer(status, body, headers)


class PretendSnap:
    def __init__(self, books: Books, *, success: str = "SUCCESS") -> None:
        self.books, self.success = books, success
        self.tokens = PretendTokens(basic=False)
        self.unlisted: set[str] = set()

    def __call__(self, request: ReceivedRequest) -> Answer:
        parts = urlsplit(request.target)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if parts.path == "/login/oauth2/access_token":
            return self.tokens.answer(request)
        if not self.tokens.accepts(request):
            return error(401, "E1001", "unauthorized")
        path = parts.path.removeprefix(f"/v1/adaccounts/{self.books.account}")
        match path:
            case "":
                books = self.books
                account = {"name": books.name, "currency": books.currency, "timezone": books.timezone}
                return self._answer("adaccounts", "adaccount", [account])
            case "/campaigns" | "/adsquads" | "/ads":
                return self._list(path.strip("/").removesuffix("s"), query)
            case "/stats":
                return self._stats(query)
            case _:
                return error(404, "E1008", "Resource can not be found")

    def _answer(self, name: str, kind: str, items: list[Any], link: str | None = None) -> Answer:
        parts = [{"sub_request_status": self.success, kind: item} for item in items]
        paging_part = {"paging": {"next_link": link}} if link else {}
        return Answer(body={"request_status": self.success, name: parts, **paging_part})

    def _list(self, kind: str, query: dict[str, str]) -> Answer:
        level_field = {"campaign": "campaign", "adsquad": "adset", "ad": "ad"}[kind]
        items: dict[str, dict[str, str]] = {}
        for _, ad_place in self.books.figures:
            level_id = getattr(ad_place, level_field)
            parent_ids = (
                {"campaign_id": ad_place.campaign} if kind == "adsquad" else {"ad_squad_id": ad_place.adset}
            )
            items[level_id] = {"id": level_id, "name": self.books.find_name(level_id), **parent_ids}
        listed_items = [
            item for level_id, item in sorted(items.items()) if level_id not in {"", *self.unlisted}
        ]
        start, size = int(query.get("cursor", "0")), int(query["limit"])
        link = f"https://elsewhere.example/v1/{kind}s?limit={size}&cursor={start + size}"
        page = listed_items[start : start + size]
        return self._answer(f"{kind}s", kind, page, link if start + size < len(listed_items) else None)

    def _stats(self, query: dict[str, str]) -> Answer:
        start, end = (datetime.fromisoformat(query[name]) for name in ("start_time", "end_time"))
        if start.time() != end.time() or start.hour or end - start > timedelta(days=31):
            return error(400, "E1001", "Unsupported Stats Query: days must begin at midnight")
        assert (query["granularity"], query["fields"]) == ("DAY", "spend,impressions,swipes")
        level, first, last = query["breakdown"], start.date(), end.date() - timedelta(days=1)
        rows = self.books.ad_rows(first, last) if level == "ad" else self.books.campaign_rows(first, last)
        series: dict[str, list[Any]] = {}
        for day, ad_place, spent in rows:
            series.setdefault(getattr(ad_place, level), []).append(self._day(day, spent))
        items = [
            {"id": level_id, "type": level.upper(), "granularity": "DAY", "timeseries": days}
            for level_id, days in series.items()
        ]
        stat = {"id": self.books.account, "type": "AD_ACCOUNT", "breakdown_stats": {level: items}}
        return self._answer("timeseries_stats", "timeseries_stat", [stat])

    def _day(self, day: date, figures: Spent) -> dict[str, Any]:
        zone = ZoneInfo(self.books.timezone)
        start, end = (
            datetime(moment.year, moment.month, moment.day, tzinfo=zone).isoformat(timespec="milliseconds")
            for moment in (day, day + timedelta(days=1))
        )
        stats = {
            "spend": int(figures.amount * 1_000_000),
            "impressions": figures.impressions,
            "swipes": figures.clicks,
        }
        return {"start_time": start, "end_time": end, "stats": stats}
