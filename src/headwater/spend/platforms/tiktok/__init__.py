"""TikTok's API for Business: synchronous reports by day, in pages."""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from typing import Annotated, Any
from urllib.parse import urlencode

import msgspec
from msgspec import Meta

from headwater.base.egress.answers import objects, succeeded
from headwater.base.egress.models import EgressRequest, EgressResponse
from headwater.http.inputs.account_kinds import AccountSettings
from headwater.http.inputs.account_settings import PointVersion, digits
from headwater.spend.models import SpendRow
from headwater.spend.platforms.platform import (
    Credentials,
    Exchange,
    Fault,
    FaultCause,
    Level,
    PullLimits,
    ReportRequest,
    SpendAccount,
    SpendPlatform,
    judge_status,
)
from headwater.spend.platforms.rows import (
    Figures,
    make_account,
    make_row,
    read_count,
    read_day,
    read_money,
    read_place,
)

_METRICS = {
    Level.CAMPAIGN: ("campaign_name",),
    Level.AD: ("campaign_id", "campaign_name", "adgroup_id", "adgroup_name", "ad_name"),
}
_OK = 0
_PARTLY = 20001
_KINDS = {
    40001: FaultCause.PERMISSION,
    **dict.fromkeys((40102, 40104, 40105), FaultCause.TOKEN),
    **dict.fromkeys((40016, 40100, 40133), FaultCause.THROTTLED),
    _PARTLY: FaultCause.TEMPORARY,
}
"""By code, apart from TikTok's own errors, which begin with 5."""
_MINUTE_LIMIT_SECONDS = 300.0
_DAY_SECONDS = 24 * 3600.0


class TikTokSpendSettings(AccountSettings, frozen=True, kw_only=True):
    advertiser_id: Annotated[
        str,
        digits(1, 20, "7012345678901234567"),
        Meta(description="Number of the ad account: in TikTok Ads Manager at the top right."),
    ]
    api_version: Annotated[PointVersion, Meta(description="Version of the API for Business.")] = "v1.3"


class TikTokSpend(SpendPlatform):
    name = "tiktok"
    title = "TikTok"
    url = "https://business-api.tiktok.com"
    settings = TikTokSpendSettings
    secrets = {
        "access_token": "Long-term access token of a developer app with the permission Reporting, authorized"
        " by the advertiser."
    }
    steps = (
        "On business-api.tiktok.com, open My Apps, Create an App, with the permission Reporting.",
        "When it is approved, open its Advertiser authorization URL, and confirm access to the ad account.",
        "Exchange the auth_code in the address for the access token within an hour.",
    )
    limits = PullLimits(days=30, window=28, page_sizes=(1000,))
    gaps = "TikTok doesn't report GMV Max campaigns here."

    def authorize(self, request: EgressRequest, credentials: Credentials) -> EgressRequest:
        headers = {**request.headers, "Access-Token": credentials.secrets["access_token"]}
        return msgspec.structs.replace(request, headers=headers)

    def find_fault(self, answer: EgressResponse, body: dict[str, Any]) -> Fault | None:
        code = body.get("code")
        if not isinstance(code, int):
            return None if succeeded(answer) else judge_status(answer)
        if code == _OK:
            return None
        kind = _KINDS.get(code, FaultCause.TEMPORARY if code // 10_000 == 5 else FaultCause.REFUSED)
        message = str(body.get("message", ""))
        wait = _read_wait(answer, message) if kind is FaultCause.THROTTLED else None
        return Fault(kind, message, f"code {code}", wait_seconds=wait)

    def read_account(self, credentials: Credentials) -> Exchange[SpendAccount]:
        advertiser_id = credentials.settings.advertiser_id
        body = yield _get(
            credentials,
            "advertiser/info",
            advertiser_ids=_to_json([advertiser_id]),
            fields=_to_json(["name", "currency", "timezone"]),
        )
        advertisers = objects(body["data"]["list"])
        if not advertisers:
            raise Fault(FaultCause.ACCOUNT, "TikTok has no such advertiser.")
        advertiser = advertisers[0]
        return make_account(
            advertiser_id, advertiser.get("name"), advertiser["currency"], advertiser.get("timezone")
        )

    def read_rows(self, credentials: Credentials, report: ReportRequest) -> Exchange[list[SpendRow]]:
        first, last = report.days
        fields = {
            "advertiser_id": report.account.id,
            "service_type": "AUCTION",
            "report_type": "BASIC",
            "data_level": f"AUCTION_{report.level.upper()}",
            "dimensions": _to_json([f"{report.level}_id", "stat_time_day"]),
            "metrics": _to_json(["spend", "impressions", "clicks", *_METRICS[report.level]]),
            "filtering": _filter_nothing(report.level),
            "start_date": str(first),
            "end_date": str(last),
            "page_size": str(report.page_size),
        }
        rows: dict[tuple[object, ...], SpendRow] = {}
        page = pages = 1
        total = 0
        while page <= pages:
            body = yield _get(credentials, "report/integrated/get", **fields, page=str(page))
            for item in objects(body["data"]["list"]):
                row = _read_row(report.account, item)
                rows[row.date, row.campaign_id, row.ad_id] = row
            info = body["data"]["page_info"]
            pages, total = info["total_page"], info["total_number"]
            page += 1
        if len(rows) != total:
            # Pages are no snapshot: a row may move to a page that is already read.
            raise Fault(FaultCause.TEMPORARY, "Rows moved between the pages of a report.")
        return list(rows.values())


def _get(credentials: Credentials, path: str, **fields: str) -> EgressRequest:
    """Build a request. TikTok doesn't find paths without the slash at the end."""
    url = f"{credentials.url}/open_api/{credentials.settings.api_version}/{path}/?{urlencode(fields)}"
    return EgressRequest(url=url, method="GET")


def _to_json(values: Any) -> str:
    return msgspec.json.encode(values).decode()


def _filter_nothing(level: Level) -> str:
    """Return a filter for every status. Without it, deleted campaigns and ads are missing."""
    value = _to_json(["STATUS_ALL"])
    return _to_json([{"field_name": f"{level}_status", "filter_type": "IN", "filter_value": value}])


def _read_row(account: SpendAccount, item: dict[str, Any]) -> SpendRow:
    values = {**item["metrics"], **item["dimensions"]}
    figures = Figures(
        read_money(values["spend"]), read_count(values.get("impressions")), read_count(values.get("clicks"))
    )
    day, place = read_day(values["stat_time_day"]), read_place(values, "adgroup")
    return make_row("tiktok", account, day, place, figures)


def _read_wait(answer: EgressResponse, message: str) -> float | None:
    """Return the seconds until a limit per minute or per day is lifted; None for a limit per second."""
    if "QPD" not in message:
        return _MINUTE_LIMIT_SECONDS if "QPM" in message else None
    try:
        current_time = parsedate_to_datetime(answer.headers.get("date", "")).timestamp()
    except ValueError:
        current_time = 0
    # Calls of a day are counted from midnight UTC.
    return _DAY_SECONDS - current_time % _DAY_SECONDS
