"""Pinterest's API: lists of campaigns and ads, and the analytics of some of them by day."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any
from urllib.parse import urlencode

import msgspec
from msgspec import Meta

from headwater.base.egress.answers import objects, succeeded
from headwater.base.egress.calls import make_client_call
from headwater.base.egress.models import EgressRequest, EgressResponse
from headwater.http.inputs.account_kinds import AccountSettings
from headwater.http.inputs.account_settings import Version, digits, matching
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

_STATUSES = ("ACTIVE", "PAUSED", "ARCHIVED")
"""Without archived ones, their spend of earlier days would be missing."""
_COLUMNS = "SPEND_IN_MICRO_DOLLAR,PAID_IMPRESSION,TOTAL_CLICKTHROUGH"
"""Despite its name, the amount is in millionths of the account's currency."""
_MOST_IDS = 50
"""Per request: Pinterest takes 250, but with ids of 18 digits a URL would be longer than ours may be."""


class PinterestSpendSettings(AccountSettings, frozen=True, kw_only=True):
    ad_account_id: Annotated[
        str,
        digits(1, 18, "549755885175"),
        Meta(description="Number of the ad account, in the address of Ads Manager."),
    ]
    timezone: Annotated[
        str,
        matching(r"\A[A-Za-z0-9_+/-]{1,64}\Z", "must be an IANA time zone", "UTC"),
        Meta(description="Time zone of the days in Pinterest's reports."),
    ] = "UTC"
    api_version: Annotated[Version, Meta(description="Version of Pinterest's API.")] = "v5"


class PinterestSpend(SpendPlatform):
    name = "pinterest"
    title = "Pinterest"
    url = "https://api.pinterest.com"
    settings = PinterestSpendSettings
    secrets = {
        "client_id": "App id of your app at Pinterest.",
        "client_secret": "App secret key of the app.",
        "refresh_token": "Refresh token of a user of the ad account, with the scope ads:read.",
    }
    steps = (
        "On developers.pinterest.com, open My apps, Connect app, and wait until it is approved.",
        "Copy its app id and app secret key.",
        "Sign in to the app with the scope ads:read, and exchange the code for a refresh token.",
    )
    limits = PullLimits(days=30, window=28, history=89, keeps_older=False, page_sizes=(250, 50))
    gaps = "Pinterest reports only the last 90 days."

    def token_request(self, account: Credentials, current_time: float) -> EgressRequest:
        secrets = account.secrets
        return make_client_call(
            f"{account.url}/{account.settings.api_version}/oauth/token",
            (secrets["client_id"], secrets["client_secret"]),
            grant_type="refresh_token",
            refresh_token=secrets["refresh_token"],
        )

    def decode(self, answer: EgressResponse) -> Any:
        """Analytics are a list without an object around it."""
        if not succeeded(answer) or not answer.body.lstrip().startswith(b"["):
            return super().decode(answer)
        try:
            return msgspec.json.decode(answer.body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return super().decode(answer)

    def find_fault(self, answer: EgressResponse, body: dict[str, Any]) -> Fault | None:
        return None if succeeded(answer) else judge_status(answer, body.get("message"))

    def read_account(self, credentials: Credentials) -> Exchange[SpendAccount]:
        settings = credentials.settings
        body = yield _get(credentials, "", {})
        return make_account(settings.ad_account_id, body.get("name"), body["currency"], settings.timezone)

    def read_rows(self, credentials: Credentials, report: ReportRequest) -> Exchange[list[SpendRow]]:
        level = report.level
        entities = yield from _list(credentials, report)
        places = {read_id(item["id"]): _read_place(level, item) for item in entities}
        rows: list[SpendRow] = []
        for ids in _split(list(places)):
            fields = {
                f"{level}_ids": ids,
                "start_date": str(report.days.first),
                "end_date": str(report.days.last),
                "granularity": "DAY",
                "columns": _COLUMNS,
            }
            items = yield _get(credentials, f"/{level}s/analytics", fields)
            for item in objects(items):
                place = places[read_id(item[f"{level.upper()}_ID"])]
                rows.append(_read_row(report.account, item, place))
        return rows


def _get(credentials: Credentials, path: str, fields: Mapping[str, Any]) -> EgressRequest:
    settings = credentials.settings
    query = f"?{urlencode(fields, doseq=True)}" if fields else ""
    base = f"{credentials.url}/{settings.api_version}/ad_accounts/{settings.ad_account_id}"
    return EgressRequest(url=f"{base}{path}{query}", method="GET")


def _list(credentials: Credentials, report: ReportRequest) -> Exchange[list[dict[str, Any]]]:
    """Fetch all campaigns or ads."""
    fields = {"page_size": str(report.page_size), "entity_statuses": _STATUSES}
    items: list[dict[str, Any]] = []
    while True:
        body = yield Listed(_get(credentials, f"/{report.level}s", fields))
        items += objects(body["items"])
        if not body.get("bookmark"):
            return items
        fields["bookmark"] = body["bookmark"]


def _split(ids: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(ids), _MOST_IDS):
        yield ids[start : start + _MOST_IDS]


def _read_place(level: Level, item: dict[str, Any]) -> AdPlace:
    entity = read_id(item["id"]), read_name(item.get("name"))
    if level is Level.CAMPAIGN:
        return AdPlace(entity)
    return AdPlace((read_id(item["campaign_id"]), ""), (read_id(item["ad_group_id"]), ""), entity)


def _read_row(account: SpendAccount, item: dict[str, Any], place: AdPlace) -> SpendRow:
    figures = Figures(
        read_micros(item.get("SPEND_IN_MICRO_DOLLAR", 0)),
        read_count(item.get("PAID_IMPRESSION")),
        read_count(item.get("TOTAL_CLICKTHROUGH")),
    )
    return make_row("pinterest", account, read_day(item["DATE"]), place, figures)
