"""OpenAI's Ads API: insights by day, in pages."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from urllib.parse import urlencode

import msgspec
from msgspec import Meta

from headwater.base.egress.answers import get_nested, objects, succeeded
from headwater.base.egress.models import EgressRequest, EgressResponse
from headwater.http.inputs.account_kinds import AccountSettings
from headwater.http.inputs.account_settings import Version
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
    read_id,
    read_micros,
    read_money,
    read_place,
)

_PLACES = {
    Level.CAMPAIGN: ("campaign.id", "campaign.name"),
    Level.AD: ("campaign.id", "ad_group.id", "ad_group.name", "ad.id", "ad.name"),
}
_METRICS = ("spend", "impressions", "clicks")
_NOT_FOUND = 404


class OpenAISpendSettings(AccountSettings, frozen=True, kw_only=True):
    api_version: Annotated[Version, Meta(description="Version of the Ads API.")] = "v1"
    spend_unit: Annotated[
        Literal["units", "micros"],
        Meta(description="Unit of the spend in reports: of the account's currency, or its millionths."),
    ] = "units"


class OpenAISpend(SpendPlatform):
    name = "openai"
    title = "OpenAI"
    url = "https://api.ads.openai.com"
    settings = OpenAISpendSettings
    secrets = {"api_key": "API key of the ad account: Ads Manager, Settings. It belongs to one account."}
    steps = ("In Ads Manager for ChatGPT, open Settings and create an API key.",)
    limits = PullLimits(days=30, window=28, history=364, page_sizes=(2000, 500))

    def authorize(self, request: EgressRequest, credentials: Credentials) -> EgressRequest:
        key_credentials = msgspec.structs.replace(credentials, access_token=credentials.secrets["api_key"])
        return super().authorize(request, key_credentials)

    def find_fault(self, answer: EgressResponse, body: dict[str, Any]) -> Fault | None:
        if succeeded(answer):
            return None
        words = get_nested(body, "error", "message"), get_nested(body, "error", "param")
        if answer.status == _NOT_FOUND:
            return Fault(FaultCause.PERMISSION, "The Ads API is not enabled for this account", *words)
        return judge_status(answer, *words)

    def read_account(self, credentials: Credentials) -> Exchange[SpendAccount]:
        body = yield _get(credentials, "ad_account", [])
        return make_account(
            read_id(body["id"]), body.get("name"), body["currency_code"], body.get("timezone")
        )

    def read_rows(self, credentials: Credentials, report: ReportRequest) -> Exchange[list[SpendRow]]:
        metrics = [f"{report.level}.{metric}" for metric in _METRICS]
        fields = [
            ("aggregation_level", str(report.level)),
            ("time_granularity", "daily"),
            ("time_ranges[]", _make_range(report)),
            *(("fields[]", name) for name in ("metadata.readable_time", *_PLACES[report.level], *metrics)),
            ("limit", str(report.page_size)),
        ]
        is_micros = credentials.settings.spend_unit == "micros"
        rows: list[SpendRow] = []
        after: list[tuple[str, str]] = []
        while True:
            body = yield _get(credentials, "ad_account/insights", fields + after)
            rows += [_read_row(report, item, is_micros=is_micros) for item in objects(body["data"])]
            if not body.get("has_more"):
                return rows
            after = [("after", read_id(body["last_id"]))]


def _get(credentials: Credentials, path: str, fields: list[tuple[str, str]]) -> EgressRequest:
    query = f"?{urlencode(fields)}" if fields else ""
    url = f"{credentials.url}/{credentials.settings.api_version}/{path}{query}"
    return EgressRequest(url=url, method="GET")


def _make_range(report: ReportRequest) -> str:
    """Describe the days in JSON, both included. Without a time zone they are the account's."""
    days = {"type": "date_range", "since": str(report.days.first), "until": str(report.days.last)}
    if report.account.timezone is not None:
        days["timezone"] = report.account.timezone
    return msgspec.json.encode(days).decode()


def _read_row(report: ReportRequest, item: dict[str, Any], *, is_micros: bool) -> SpendRow:
    def read(metric: str) -> Any:
        """Return a metric; some answers write its level before it."""
        return item[metric] if metric in item else item.get(f"{report.level}_{metric}")

    spend = read("spend")
    figures = Figures(
        read_micros(spend) if is_micros else read_money(spend),
        read_count(read("impressions")),
        read_count(read("clicks")),
    )
    place = read_place(item, "ad_group")
    return make_row("openai", report.account, read_day(item["readable_time"]), place, figures)
