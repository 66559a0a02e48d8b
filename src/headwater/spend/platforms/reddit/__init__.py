"""Reddit's Ads API: reports by day and campaign or ad, in pages."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any
from urllib.parse import urlencode, urlsplit

import msgspec
from msgspec import Meta

from headwater.base.egress.answers import get_nested, objects, succeeded
from headwater.base.egress.calls import make_client_call
from headwater.base.egress.models import EgressRequest, EgressResponse
from headwater.http.inputs.account_kinds import AccountSettings
from headwater.http.inputs.account_settings import Version, code
from headwater.spend.models import SpendRow
from headwater.spend.platforms.platform import (
    Credentials,
    Exchange,
    Fault,
    Level,
    Listed,
    PullLimits,
    ReportRequest,
    SpendAccount,
    SpendPlatform,
    judge_status,
)
from headwater.spend.platforms.rows import (
    AdPlace,
    Figures,
    make_account,
    make_row,
    read_count,
    read_day,
    read_id,
    read_micros,
    read_name,
)

_TOKEN_URL = "https://www.reddit.com/api/v1/access_token"  # noqa: S105 - an address
_BREAKDOWNS = {Level.CAMPAIGN: ["CAMPAIGN_ID", "DATE"], Level.AD: ["CAMPAIGN_ID", "AD_ID", "DATE"]}
"""At most three, so ads come without their ad groups."""
_MARGIN = timedelta(days=1)
"""Asked for around the days: whether times are in UTC or the account's zone is not documented."""


class RedditSpendSettings(AccountSettings, frozen=True, kw_only=True):
    ad_account_id: Annotated[
        str,
        code(1, 64, "a2_abc123", "_-"),
        Meta(description="Id of the ad account, which begins with a2_ or t2_: Ads Manager, Accounts."),
    ]
    api_version: Annotated[Version, Meta(description="Version of Reddit's Ads API.")] = "v3"


class RedditSpend(SpendPlatform):
    name = "reddit"
    title = "Reddit"
    url = "https://ads-api.reddit.com"
    settings = RedditSpendSettings
    secrets = {
        "client_id": "App id of a developer app in Ads Manager.",
        "client_secret": "Secret of the app.",
        "refresh_token": "Refresh token of a user of the ad account, with the scope adsread.",
    }
    steps = (
        "In Reddit Ads Manager, open Developer Applications, Create a new app.",
        "Copy the app id and the secret.",
        "Sign in to the app with the scope adsread, and exchange the code for a permanent refresh token.",
    )
    limits = PullLimits(days=30, window=28, page_sizes=(100, 50))

    def token_request(self, account: Credentials, current_time: float) -> EgressRequest:
        secrets = account.secrets
        return make_client_call(
            self.address(account.url, _TOKEN_URL),
            (secrets["client_id"], secrets["client_secret"]),
            grant_type="refresh_token",
            refresh_token=secrets["refresh_token"],
        )

    def find_fault(self, answer: EgressResponse, body: dict[str, Any]) -> Fault | None:
        if succeeded(answer) and "error" not in body:
            return None
        fault = judge_status(answer, get_nested(body, "error", "message") or body.get("message"))
        if fault.wait_seconds is None and answer.headers.get("x-ratelimit-remaining", "").startswith("0"):
            fault.wait_seconds = _read_reset(answer)
        return fault

    def read_account(self, credentials: Credentials) -> Exchange[SpendAccount]:
        body = yield EgressRequest(url=_make_url(credentials, ""), method="GET")
        account = body["data"]
        account_id = credentials.settings.ad_account_id
        return make_account(account_id, account.get("name"), account["currency"], account.get("time_zone_id"))

    def read_rows(self, credentials: Credentials, report: ReportRequest) -> Exchange[list[SpendRow]]:
        query = urlencode({"page.size": report.page_size})
        url = _make_url(credentials, f"/{report.level}s?{query}")
        lists = yield from _read_pages(EgressRequest(url=url, method="GET"))
        entities = [item for body in lists for item in objects(body["data"])]
        names = {read_id(item["id"]): read_name(item.get("name")) for item in entities}
        body = msgspec.json.encode({"data": _make_report(report)})
        pages = yield from _read_pages(EgressRequest(url=_make_url(credentials, "/reports"), body=body))
        rows = [_read_row(report, item, names) for page in pages for item in objects(page["data"]["metrics"])]
        # Days of the margin are not whole.
        return [row for row in rows if report.days.first <= row.date <= report.days.last]


def _make_url(credentials: Credentials, path: str) -> str:
    settings = credentials.settings
    return f"{credentials.url}/api/{settings.api_version}/ad_accounts/{settings.ad_account_id}{path}"


def _read_pages(request: EgressRequest) -> Exchange[list[dict[str, Any]]]:
    """Fetch all pages. Of the next page's address only the query is used, which can't lead elsewhere."""
    bodies: list[dict[str, Any]] = []
    while True:
        body = yield Listed(request) if request.method == "GET" else request
        bodies.append(body)
        query = urlsplit(str(get_nested(body, "pagination", "next_url") or "")).query
        if not query:
            return bodies
        request = msgspec.structs.replace(request, url=f"{request.url.partition('?')[0]}?{query}")


def _make_report(report: ReportRequest) -> dict[str, Any]:
    """Describe a report. Its times must be on the hour."""
    report_values = {
        "breakdowns": _BREAKDOWNS[report.level],
        "fields": ["SPEND", "IMPRESSIONS", "CLICKS"],
        "starts_at": f"{report.days.first - _MARGIN}T00:00:00Z",
        "ends_at": f"{report.days.last + 2 * _MARGIN}T00:00:00Z",
    }
    return report_values | ({"time_zone_id": report.account.timezone} if report.account.timezone else {})


def _read_row(report: ReportRequest, item: dict[str, Any], names: dict[str, str]) -> SpendRow:
    ids = [read_id(item[f"{level}_id"]) for level in (Level.CAMPAIGN, report.level)]
    campaign, level = ((level_id, names.get(level_id, "")) for level_id in ids)
    place = AdPlace(campaign) if report.level is Level.CAMPAIGN else AdPlace(campaign, ad=level)
    figures = Figures(
        read_micros(item["spend"]), read_count(item.get("impressions")), read_count(item.get("clicks"))
    )
    return make_row("reddit", report.account, read_day(item["date"]), place, figures)


def _read_reset(answer: EgressResponse) -> float | None:
    """Return the seconds until more calls are allowed."""
    text = answer.headers.get("x-ratelimit-reset", "")
    return float(text) if text.replace(".", "", 1).isdigit() and text.isascii() else None
