"""Snap's Marketing API: statistics of an ad account by day, broken down by campaign or ad."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any
from urllib.parse import parse_qs, urlencode, urlsplit

from msgspec import Meta

from headwater.base.egress.answers import get_nested, objects, succeeded
from headwater.base.egress.models import EgressRequest, EgressResponse
from headwater.base.egress.oauth import make_refresh_call
from headwater.http.inputs.account_kinds import AccountSettings
from headwater.http.inputs.account_settings import Version, code
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
    read_day,
    read_id,
    read_micros,
    read_name,
)

_TOKEN_URL = "https://accounts.snapchat.com/login/oauth2/access_token"  # noqa: S105 - an address
_STATS = "/stats"
_SUCCESS = "SUCCESS"
_PARTIAL = "PARTIAL"


class SnapchatSpendSettings(AccountSettings, frozen=True, kw_only=True):
    ad_account_id: Annotated[
        str,
        code(1, 64, "8f3a1c52-0b7e-4d8a-9a61-2f0c5be7d913", "-"),
        Meta(description="Id of the ad account, a UUID: Ads Manager, Ad Accounts."),
    ]
    api_version: Annotated[Version, Meta(description="Version of the Marketing API.")] = "v1"


class SnapchatSpend(SpendPlatform):
    name = "snapchat"
    title = "Snapchat"
    url = "https://adsapi.snapchat.com"
    settings = SnapchatSpendSettings
    secrets = {
        "client_id": "Client id of an OAuth app in Business Manager.",
        "client_secret": "Client secret of the app.",
        "refresh_token": "Refresh token of a user of the ad account, with the scope snapchat-marketing-api.",
    }
    steps = (
        "In Business Manager, open Business Details, OAuth Apps, + OAuth App.",
        "Copy the client id and the client secret, which is shown once.",
        "Sign in with the scope snapchat-marketing-api, and exchange the code for a refresh token.",
        "Copy the ad account's id in Ads Manager, Ad Accounts.",
    )
    limits = PullLimits(days=30, window=28, page_sizes=(1000, 200))

    def token_request(self, account: Credentials, current_time: float) -> EgressRequest:
        return make_refresh_call(self.address(account.url, _TOKEN_URL), account.secrets)

    def find_fault(self, answer: EgressResponse, body: dict[str, Any]) -> Fault | None:
        words = body.get("debug_message") or body.get("display_message"), body.get("error_code")
        if not succeeded(answer):
            return judge_status(answer, *words)
        status = _read_status(body, "request_status")
        if status == _SUCCESS or not body:
            return None
        return Fault(FaultCause.TEMPORARY if status == _PARTIAL else FaultCause.REFUSED, status, *words)

    def read_account(self, credentials: Credentials) -> Exchange[SpendAccount]:
        body = yield _get(credentials, "")
        account = _read_parts(body, "adaccounts", "adaccount")[0]
        account_id = credentials.settings.ad_account_id
        return make_account(account_id, account.get("name"), account["currency"], account.get("timezone"))

    def read_rows(self, credentials: Credentials, report: ReportRequest) -> Exchange[list[SpendRow]]:
        places = yield from _list_places(credentials, report)
        # Times without an offset are the account's.
        bodies = yield from _read_pages(
            credentials,
            _STATS,
            granularity="DAY",
            breakdown=str(report.level),
            fields="spend,impressions,swipes",
            start_time=f"{report.days.first}T00:00:00",
            end_time=f"{report.days.last + timedelta(days=1)}T00:00:00",
        )
        rows: list[SpendRow] = []
        for body in bodies:
            for part in _read_parts(body, "timeseries_stats", "timeseries_stat"):
                for item in objects(get_nested(part, "breakdown_stats", report.level)):
                    if (place := _find_place(places, report.level, read_id(item["id"]))) is not None:
                        rows += _read_days(report.account, item, place)
        return rows


def _get(credentials: Credentials, path: str, **fields: str) -> EgressRequest:
    settings = credentials.settings
    query = f"?{urlencode(fields)}" if fields else ""
    base = f"{credentials.url}/{settings.api_version}/adaccounts/{settings.ad_account_id}"
    return EgressRequest(url=f"{base}{path}{query}", method="GET")


def _read_pages(credentials: Credentials, path: str, **fields: str) -> Exchange[list[dict[str, Any]]]:
    """Fetch all pages. Of the next page's address only the cursor is used, which can't lead elsewhere."""
    bodies: list[dict[str, Any]] = []
    while True:
        request = _get(credentials, path, **fields)
        body = yield request if path == _STATS else Listed(request)
        bodies.append(body)
        link = get_nested(body, "paging", "next_link")
        cursor = parse_qs(urlsplit(str(link or "")).query).get("cursor")
        if cursor is None:
            return bodies
        fields["cursor"] = cursor[0]


def _list(credentials: Credentials, kind: str, page_size: int) -> Exchange[list[dict[str, Any]]]:
    """Fetch all campaigns, ad squads or ads."""
    bodies = yield from _read_pages(credentials, f"/{kind}s", limit=str(page_size))
    return [item for body in bodies for item in _read_parts(body, f"{kind}s", kind)]


def _list_places(credentials: Credentials, report: ReportRequest) -> Exchange[dict[str, AdPlace]]:
    """Fetch where campaigns or ads are, by their id."""
    items = yield from _list(credentials, report.level, report.page_size)
    if report.level is Level.CAMPAIGN:
        return {place[0]: AdPlace(place) for place in map(_read_named, items)}
    squads = yield from _list(credentials, "adsquad", report.page_size)
    above = {
        read_id(squad["id"]): AdPlace((read_id(squad["campaign_id"]), ""), _read_named(squad))
        for squad in squads
    }
    return {
        read_id(item["id"]): squad._replace(ad=_read_named(item))
        for item in items
        if (squad := above.get(read_id(item["ad_squad_id"]))) is not None
    }


def _find_place(places: dict[str, AdPlace], level: Level, level_id: str) -> AdPlace | None:
    """Return None for an ad that is no longer listed: its spend is then known by campaign only."""
    return places.get(level_id, AdPlace((level_id, "")) if level is Level.CAMPAIGN else None)


def _read_named(item: dict[str, Any]) -> tuple[str, str]:
    return read_id(item["id"]), read_name(item.get("name"))


def _read_status(body: dict[str, Any], name: str) -> str:
    """Return a status in capitals; Snap writes it both ways."""
    return str(body.get(name, "")).upper()


def _read_parts(body: dict[str, Any], name: str, kind: str) -> list[dict[str, Any]]:
    """Return the parts of an answer. Raises Fault if one of them failed."""
    parts = objects(body[name])
    for part in parts:
        if _read_status(part, "sub_request_status") != _SUCCESS:
            raise Fault(FaultCause.TEMPORARY, "Snap left out a part", part.get("sub_request_error_reason"))
    return [part[kind] for part in parts]


def _read_days(account: SpendAccount, item: dict[str, Any], place: AdPlace) -> list[SpendRow]:
    rows: list[SpendRow] = []
    for day in objects(item["timeseries"]):
        stats = day["stats"]
        figures = Figures(
            read_micros(stats.get("spend", 0)),
            read_count(stats.get("impressions")),
            read_count(stats.get("swipes")),
        )
        rows.append(make_row("snapchat", account, read_day(day["start_time"]), place, figures))
    return rows
