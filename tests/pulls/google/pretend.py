"""A fake Google Ads: `search` on one customer, in pages, and Google's token endpoint."""

from __future__ import annotations

import re
from datetime import date
from typing import Any
from urllib.parse import parse_qs

from tests.pulls.books import AdPlace, Books, Spent
from tests.support.fake_platform import Answer
from tests.support.wire import ReceivedRequest

SECRETS = {
    "developer_token": "a-developer-token",
    "client_id": "client.apps.googleusercontent.com",
    "client_secret": "GOCSPX-secret",
    "refresh_token": "1//refresh",
}
MANAGER = "9876543210"
_BETWEEN = re.compile(r"FROM (campaign|ad_group_ad) WHERE segments\.date BETWEEN '([-0-9]+)' AND '([-0-9]+)'")


def error(status: int, category: str, code: str, **details: Any) -> Answer:
    failure = {"errorCode": {category: code}, "message": f"The message of {code}.", **details}
    kind = "type.googleapis.com/google.ads.googleads.v26.errors.GoogleAdsFailure"
    body = {
        "code": status,
        "message": "Request contains an invalid argument.",
        "status": "INVALID_ARGUMENT",
        "details": [{"@type": kind, "errors": [failure], "requestId": "WF0kx"}],
    }
    return Answer(status, {"error": body})


EXPIRED = error(401, "authenticationError", "OAUTH_TOKEN_EXPIRED")


class PretendGoogle:
    """Issue a token for the refresh token. `expire_tokens` invalidates the issued tokens."""

    def __init__(self, books: Books, page_size: int = 10_000) -> None:
        self.books, self.page_size = books, page_size
        self.issued = 0
        self._token: str | None = None

    def expire_tokens(self) -> None:
        self._token = None

    def __call__(self, request: ReceivedRequest) -> Answer:
        if request.target == "/token":
            return self._issue(request)
        return self._refuse(request) or self._search(request.json())

    def _refuse(self, request: ReceivedRequest) -> Answer | None:
        if self._token is None or request.headers["authorization"] != f"Bearer {self._token}":
            return EXPIRED
        if request.headers["developer-token"] != SECRETS["developer_token"]:
            return error(401, "authenticationError", "DEVELOPER_TOKEN_INVALID")
        if request.headers.get("login-customer-id") != MANAGER:
            return error(403, "authorizationError", "USER_PERMISSION_DENIED")
        if not request.target.startswith("/v26/"):
            return Answer(404, b"<html>Not Found</html>", {"Content-Type": "text/html"})
        if request.target != f"/v26/customers/{self.books.account}/googleAds:search":
            return error(401, "authenticationError", "CUSTOMER_NOT_FOUND")
        return None

    def _search(self, body: dict[str, str]) -> Answer:
        rows = self.rows(body["query"])
        start = int(body.get("pageToken", "0"))
        page: dict[str, Any] = {"fieldMask": "customer.id", "requestId": "WF0kx"}
        if start < len(rows):  # Google omits an empty list
            page["results"] = rows[start : start + self.page_size]
        if start + self.page_size < len(rows):
            page["nextPageToken"] = str(start + self.page_size)
        return Answer(body=page)

    def _issue(self, request: ReceivedRequest) -> Answer:
        form = {name: values[0] for name, values in parse_qs(request.body.decode()).items()}
        user = {name: SECRETS[name] for name in ("client_id", "client_secret", "refresh_token")}
        if form != {"grant_type": "refresh_token", **user}:
            return Answer(400, {"error": "invalid_grant", "error_description": "Bad Request"})
        self.issued += 1
        self._token = f"ya29.{self.issued}"
        scope = "https://www.googleapis.com/auth/adwords"
        return Answer(
            body={"access_token": self._token, "expires_in": 3599, "scope": scope, "token_type": "Bearer"}
        )

    def rows(self, query: str) -> list[dict[str, Any]]:
        if query.endswith(" FROM customer"):
            return [{"customer": self._customer()}]
        match = _BETWEEN.search(query)
        assert match is not None, query
        first, last = date.fromisoformat(match[2]), date.fromisoformat(match[3])
        rows = (
            self.books.campaign_rows(first, last)
            if match[1] == "campaign"
            else self.books.ad_rows(first, last)
        )
        return [self._row(*row) for row in rows]

    def _customer(self) -> dict[str, Any]:
        books = self.books
        return {
            "resourceName": f"customers/{books.account}",
            "id": books.account,
            "descriptiveName": books.name,
            "currencyCode": books.currency,
            "timeZone": books.timezone,
            "manager": False,
        }

    def _row(self, day: date, ad_place: AdPlace, figures: Spent) -> dict[str, Any]:
        customer = f"customers/{self.books.account}"
        row: dict[str, Any] = {
            "campaign": {
                "resourceName": f"{customer}/campaigns/{ad_place.campaign}",
                "id": ad_place.campaign,
                "name": self.books.find_name(ad_place.campaign),
            },
            "segments": {"date": str(day)},
            "metrics": {
                "clicks": str(figures.clicks),
                "conversions": float(figures.conversions),
                "conversionsValue": float(figures.revenue),
                "costMicros": str(int(figures.amount * 1_000_000)),
                "impressions": str(figures.impressions),
            },
        }
        if ad_place.ad:
            row["adGroup"] = {
                "resourceName": f"{customer}/adGroups/{ad_place.adset}",
                "id": ad_place.adset,
                "name": self.books.find_name(ad_place.adset),
            }
            ad = {"resourceName": f"{customer}/ads/{ad_place.ad}", "id": ad_place.ad}
            ad["name"] = self.books.find_name(ad_place.ad)
            row["adGroupAd"] = {
                "resourceName": f"{customer}/adGroupAds/{ad_place.adset}~{ad_place.ad}",
                "ad": ad,
            }
        return row
