"""LinkedIn's Reporting API: analytics by day without pages, and lists of names.

LinkedIn's levels are shifted: a campaign group is a campaign here, a campaign an ad set, a creative an ad, as
in imported files. So the rows of campaigns are those of campaign groups. A row has only the id of its own
level; the lists have the levels above it and the names.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any
from urllib.parse import quote

import msgspec
from msgspec import Meta

from headwater.base.egress.answers import get_nested, objects, succeeded
from headwater.base.egress.models import EgressRequest, EgressResponse
from headwater.base.egress.oauth import LINKEDIN_TOKEN_URL, find_linkedin_problem, make_linkedin_call
from headwater.http.inputs.account_kinds import AccountSettings
from headwater.http.inputs.account_settings import digits, matching
from headwater.spend.models import SpendRow
from headwater.spend.platforms.platform import (
    Credentials,
    Exchange,
    Fault,
    FaultCause,
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
    read_id,
    read_money,
    read_name,
)

_FIELDS = "costInLocalCurrency,impressions,clicks,externalWebsiteConversions,conversionValueInLocalCurrency"
_PIVOTS = {Level.CAMPAIGN: "CAMPAIGN_GROUP", Level.AD: "CREATIVE"}
_GROUP_STATES = "ACTIVE,PAUSED,ARCHIVED,CANCELED,DRAFT,PENDING_DELETION,REMOVED"
_CAMPAIGN_STATES = f"{_GROUP_STATES},COMPLETED"
"""Archived ones are listed, too: they may have spent money on earlier days."""
_MOST_FIGURES = 15_000
"""In an answer of analytics. LinkedIn leaves out others without a sign."""
Item = dict[str, Any]


class LinkedInSpendSettings(AccountSettings, frozen=True, kw_only=True):
    ad_account_id: Annotated[
        str,
        digits(1, 20, "123456789"),
        Meta(description="Number of the ad account: in Campaign Manager below its name."),
    ]
    api_version: Annotated[
        str,
        matching(r"\A20[0-9]{2}(0[1-9]|1[0-2])\Z", "must be a version", "202606"),
        Meta(description="Version of the Marketing API, a year and a month."),
    ] = "202606"


class LinkedInSpend(SpendPlatform):
    name = "linkedin"
    title = "LinkedIn"
    url = "https://api.linkedin.com"
    settings = LinkedInSpendSettings
    secrets = {
        "access_token": "Token with the scopes r_ads and r_ads_reporting, valid for 60 days: LinkedIn"
        " Developers, Auth, OAuth 2.0 tools.",
        "client_id": "Client id of the app, with client_secret and refresh_token: only for apps to which"
        " LinkedIn gives refresh tokens.",
        "client_secret": "Client secret of the app.",
        "refresh_token": "Refresh token, valid for a year.",
    }
    optional_secrets = frozenset(secrets)
    limits = PullLimits(days=30, window=30)

    def secrets_problem(self, secrets: Mapping[str, str]) -> str | None:
        return find_linkedin_problem(secrets)

    def token_request(self, account: Credentials, current_time: float) -> EgressRequest | None:
        return make_linkedin_call(self.address(account.url, LINKEDIN_TOKEN_URL), account.secrets)

    def authorize(self, request: EgressRequest, credentials: Credentials) -> EgressRequest:
        authorized = super().authorize(request, credentials)
        version_headers = {
            "Linkedin-Version": credentials.settings.api_version,
            "X-Restli-Protocol-Version": "2.0.0",
        }
        return msgspec.structs.replace(authorized, headers={**authorized.headers, **version_headers})

    def find_fault(self, answer: EgressResponse, body: dict[str, Any]) -> Fault | None:
        # A throttled answer says nothing of a wait; counters start again at midnight UTC.
        return None if succeeded(answer) else judge_status(answer, body.get("message"))

    def find_version_end(self, version: str) -> date:
        """Return the first day of the version's last month: a version is available for a year."""
        return date(int(version[:4]) + 1, int(version[4:]), 1)

    def read_account(self, credentials: Credentials) -> Exchange[SpendAccount]:
        """Without access to the account this is refused, while analytics would just be empty."""
        account_id = credentials.settings.ad_account_id
        body = yield EgressRequest(url=f"{credentials.url}/rest/adAccounts/{account_id}", method="GET")
        return make_account(account_id, body.get("name"), body["currency"], "UTC")

    def read_rows(self, credentials: Credentials, report: ReportRequest) -> Exchange[list[SpendRow]]:
        url = f"{credentials.url}/rest/adAnalytics?{_make_query(report)}"
        body = yield EgressRequest(url=url, method="GET")
        figures = objects(body["elements"])
        if len(figures) >= _MOST_FIGURES:
            raise Fault(FaultCause.TOO_LARGE, "The answer of LinkedIn has as many rows as it can have.")
        if not figures:
            return []
        places = yield from _read_places(credentials, report)
        rows = (_read_row(report.account, _find_place(report.level, places, item), item) for item in figures)
        return [row for row in rows if row is not None]


def _make_query(report: ReportRequest) -> str:
    """Parentheses and commas are LinkedIn's notation and not escaped, the account's colons are."""
    first, last = (f"(year:{day.year},month:{day.month},day:{day.day})" for day in report.days)
    account = quote(f"urn:li:sponsoredAccount:{report.account.id}", safe="")
    return (
        f"q=analytics&pivot={_PIVOTS[report.level]}&timeGranularity=DAILY"
        f"&dateRange=(start:{first},end:{last})&accounts=List({account})"
        f"&fields={_FIELDS},dateRange,pivotValues"
    )


def _read_places(credentials: Credentials, report: ReportRequest) -> Exchange[dict[str, AdPlace]]:
    """Return the place of each campaign group, or of each creative, by its id."""
    groups = yield from _list(credentials, "adCampaignGroups", _search(_GROUP_STATES))
    top = {read_id(group["id"]): (read_id(group["id"]), read_name(group.get("name"))) for group in groups}
    if report.level is Level.CAMPAIGN:
        return {group_id: AdPlace(level) for group_id, level in top.items()}
    campaigns = yield from _list(credentials, "adCampaigns", _search(_CAMPAIGN_STATES))
    adsets = {
        read_id(item["id"]): AdPlace(
            top.get(_read_urn(item["campaignGroup"]), (_read_urn(item["campaignGroup"]), "")),
            (read_id(item["id"]), read_name(item.get("name"))),
        )
        for item in campaigns
    }
    creatives = yield from _list(credentials, "creatives", "q=criteria")
    return {
        creative_id: adset._replace(ad=(creative_id, read_name(item.get("name"))))
        for item in creatives
        if (adset := adsets.get(_read_urn(item["campaign"]))) is not None
        for creative_id in [_read_urn(item["id"])]
    }


def _search(states: str) -> str:
    return f"q=search&search=(status:(values:List({states})))"


def _list(credentials: Credentials, kind: str, query: str) -> Exchange[list[Item]]:
    account_id = credentials.settings.ad_account_id
    url = f"{credentials.url}/rest/adAccounts/{account_id}/{kind}?{query}"
    size = "pageSize=100" if kind == "creatives" else "pageSize=1000"
    items: list[Item] = []
    token = ""
    while True:
        headers = {"X-RestLi-Method": "FINDER"}
        body = yield Listed(EgressRequest(url=f"{url}&{size}{token}", method="GET", headers=headers))
        items += objects(body["elements"])
        next_token = get_nested(body, "metadata", "nextPageToken")
        if not next_token:
            return items
        token = f"&pageToken={quote(next_token, safe='')}"


def _read_urn(value: Any) -> str:
    """Return the id at the end of a URN."""
    return read_id(str(value).rpartition(":")[2])


def _find_place(level: Level, places: dict[str, AdPlace], item: Item) -> AdPlace | None:
    """Return None for a creative that is no longer listed: its spend is known by campaign group only."""
    level_id = _read_urn(item["pivotValues"][0])
    return places.get(level_id) or (AdPlace((level_id, "")) if level is Level.CAMPAIGN else None)


def _read_row(account: SpendAccount, place: AdPlace | None, item: Item) -> SpendRow | None:
    if place is None:
        return None
    start = item["dateRange"]["start"]
    figures = Figures(
        read_money(item.get("costInLocalCurrency", "0")),
        read_count(item.get("impressions")),
        read_count(item.get("clicks")),
        read_money(item.get("externalWebsiteConversions", 0)),
        read_money(item.get("conversionValueInLocalCurrency", "0")),
    )
    day = date(start["year"], start["month"], start["day"])
    return make_row("linkedin", account, day, place, figures)
