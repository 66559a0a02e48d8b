"""A fake Reddit: reports by day in pages, with times in UTC or in the account's zone."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit
from zoneinfo import ZoneInfo

from tests.pulls.books import AdPlace, Books, Spent
from tests.pulls.tokens import PretendTokens
from tests.support.fake_platform import Answer
from tests.support.wire import ReceivedRequest

PAGE = 7
"""Rows of a report per page."""


def error(status: int, message: str, **headers: str) -> Answer:
    return Answer(status, {"error": {"code": status, "message": message}}, headers)


class PretendReddit:
    def __init__(self, books: Books, *, has_local_times: bool = False) -> None:
        self.books = books
        self.has_local_times = has_local_times
        """True if a report's times are in its time zone."""
        self.tokens = PretendTokens(basic=True)

    def __call__(self, request: ReceivedRequest) -> Answer:
        parts = urlsplit(request.target)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        assert request.headers.get("user-agent", "").startswith("Headwater/")
        if parts.path == "/api/v1/access_token":
            return self.tokens.answer(request)
        if not self.tokens.accepts(request):
            return error(401, "Unauthorized")
        books = self.books
        match request.method, parts.path.removeprefix(f"/api/v3/ad_accounts/{books.account}"):
            case "GET", "":
                account = {"name": books.name, "currency": books.currency, "time_zone_id": books.timezone}
                return Answer(body={"data": account})
            case "GET", "/campaigns" | "/ads" as path:
                return self._list(path.strip("/").removesuffix("s"), query)
            case "POST", "/reports":
                return self._report(request.json()["data"], int(query.get("page.token", "0")))
            case _:
                return error(404, "Ad account not found")

    def _page(self, data: Any, path: str, start: int, size: int, count: int) -> Answer:
        url = f"https://elsewhere.example{path}?page.size={size}&page.token={start + size}"
        return Answer(body={"data": data, "pagination": {"next_url": url if start + size < count else None}})

    def _list(self, level: str, query: dict[str, str]) -> Answer:
        ids = sorted(
            {level_id for _, ad_place in self.books.figures if (level_id := getattr(ad_place, level))}
        )
        start, size = int(query.get("page.token", "0")), int(query["page.size"])
        assert size <= 100
        items = [{"id": level_id, "name": self.books.find_name(level_id)} for level_id in ids]
        return self._page(items[start : start + size], f"/{level}s", start, size, len(items))

    def _report(self, report: dict[str, Any], start: int) -> Answer:
        starts, ends = (datetime.fromisoformat(report[name]) for name in ("starts_at", "ends_at"))
        if any(moment.minute or moment.second for moment in (starts, ends)):
            return error(400, "starts_at and ends_at must be on the hour")
        assert report["time_zone_id"] == self.books.timezone
        level = "ad" if "AD_ID" in report["breakdowns"] else "campaign"
        assert len(report["breakdowns"]) <= 3
        assert report["breakdowns"][-1] == "DATE"
        rows = self.books.ad_rows if level == "ad" else self.books.campaign_rows
        items = [
            self._row(row, level, share)
            for row in rows(starts.date() - timedelta(days=1), ends.date() + timedelta(days=1))
            if (share := self._share(row[0], starts, ends)) > 0
        ]
        return self._page({"metrics": items[start : start + PAGE]}, "/reports", start, PAGE, len(items))

    def _share(self, day: date, start: datetime, end: datetime) -> int:
        """Return the share of a day that is within a report's times."""
        zone = ZoneInfo(self.books.timezone)
        if self.has_local_times:
            start, end = start.replace(tzinfo=zone), end.replace(tzinfo=zone)
        first, last = (
            datetime(moment.year, moment.month, moment.day, tzinfo=zone).astimezone(UTC)
            for moment in (day, day + timedelta(days=1))
        )
        duration = min(last, end.astimezone(UTC)) - max(first, start.astimezone(UTC))
        hours = int(duration / timedelta(hours=1))
        return 24 if last - first == timedelta(hours=hours) else hours

    def _row(self, row: tuple[date, AdPlace, Spent], level: str, hours: int) -> dict[str, Any]:
        day, ad_place, spent = row
        ids = {"campaign_id": ad_place.campaign} | ({"ad_id": ad_place.ad} if level == "ad" else {})
        return {
            **ids,
            "date": str(day),
            "spend": int(spent.amount * 1_000_000) * hours // 24,
            "impressions": spent.impressions,
            "clicks": spent.clicks,
        }
