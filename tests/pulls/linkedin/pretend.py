"""A fake LinkedIn: the account, analytics of one level without pages, and lists of names in pages."""

from __future__ import annotations

import re
from datetime import date
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.pulls.books import AdPlace, Books, Spent
from tests.support.fake_platform import Answer
from tests.support.wire import ReceivedRequest

TOKEN = "AQV-an-access-token"
_DAYS = re.compile(r"year:(\d+),month:(\d+),day:(\d+)")


def error(status: int, message: str, code: int = 0) -> Answer:
    return Answer(status, {"message": message, "serviceErrorCode": code, "status": status})


EXPIRED = error(401, "The token used in the request has expired", 65601)


class PretendLinkedIn:
    def __init__(self, books: Books, page_size: int = 1000, most_figures: int = 15_000) -> None:
        self.books, self.page_size, self.most_figures = books, page_size, most_figures
        self.tokens = [TOKEN]

    def __call__(self, request: ReceivedRequest) -> Answer:
        if request.target == "/oauth/v2/accessToken":
            return self._issue(request)
        headers = request.headers
        if headers["authorization"] != f"Bearer {self.tokens[-1]}":
            return EXPIRED
        if headers["linkedin-version"] != "202606":
            return error(426, "Requested version is not active")
        assert headers["x-restli-protocol-version"] == "2.0.0"
        return self._serve(request)

    def _serve(self, request: ReceivedRequest) -> Answer:
        path = urlsplit(request.target).path
        account = f"/rest/adAccounts/{self.books.account}"
        if path == account:
            return Answer(body={"id": 1, "name": self.books.name, "currency": self.books.currency})
        if path == "/rest/adAnalytics":
            elements = self._analytics(request.target)[: self.most_figures]
            return Answer(body={"elements": elements, "paging": {"start": 0}})
        if path.startswith(account):
            return Answer(body=self._list(path.rpartition("/")[2], request.target))
        return error(403, "Not enough permissions to access")

    def _issue(self, request: ReceivedRequest) -> Answer:
        form = parse_qs(request.body.decode())
        assert form["grant_type"] == ["refresh_token"]
        self.tokens.append(f"{TOKEN}-{len(self.tokens)}")
        return Answer(body={"access_token": self.tokens[-1], "expires_in": 5_184_000})

    def _analytics(self, target: str) -> list[dict[str, Any]]:
        # Only the colons of the account are escaped, not Restli's own notation.
        assert f"accounts=List(urn%3Ali%3AsponsoredAccount%3A{self.books.account})" in target
        first, last = (date(*map(int, day)) for day in _DAYS.findall(target))
        if "pivot=CREATIVE&" in target:
            return [self._row(*row) for row in self.books.ad_rows(first, last)]
        assert "pivot=CAMPAIGN_GROUP&" in target
        return [self._row(*row) for row in self.books.campaign_rows(first, last)]

    def _row(self, day: date, ad_place: AdPlace, figures: Spent) -> dict[str, Any]:
        parts = {"year": day.year, "month": day.month, "day": day.day}
        kind, level_id = ("Creative", ad_place.ad) if ad_place.ad else ("CampaignGroup", ad_place.campaign)
        return {
            "dateRange": {"start": parts, "end": parts},
            "pivotValues": [f"urn:li:sponsored{kind}:{level_id}"],
            "costInLocalCurrency": f"{figures.amount:f}",
            "impressions": figures.impressions,
            "clicks": figures.clicks,
            "externalWebsiteConversions": figures.conversions,
            "conversionValueInLocalCurrency": f"{figures.revenue:f}",
        }

    def _list(self, kind: str, target: str) -> dict[str, Any]:
        assert kind == "creatives" or "ARCHIVED" in target
        items = self._items(kind)
        query = parse_qs(urlsplit(target).query)
        start = int(unquote(query.get("pageToken", ["0"])[0]))
        end = start + min(self.page_size, int(query["pageSize"][0]))
        page: dict[str, Any] = {"elements": items[start:end], "metadata": {}}
        if end < len(items):
            page["metadata"]["nextPageToken"] = str(end)
        return page

    def _items(self, kind: str) -> list[dict[str, Any]]:
        places = dict.fromkeys(ad_place for _, ad_place in self.books.figures)
        name = self.books.find_name
        if kind == "adCampaignGroups":
            return [{"id": int(i), "name": name(i)} for i in dict.fromkeys(p.campaign for p in places)]
        if kind == "adCampaigns":
            adsets = {p.adset: p.campaign for p in places if p.adset}
            urn = "urn:li:sponsoredCampaignGroup:"
            return [
                {"id": int(i), "name": name(i), "campaignGroup": urn + group} for i, group in adsets.items()
            ]
        assert kind == "creatives"
        creative, campaign = "urn:li:sponsoredCreative:", "urn:li:sponsoredCampaign:"
        return [
            {"id": creative + p.ad, "name": name(p.ad), "campaign": campaign + p.adset}
            for p in places
            if p.ad
        ]
