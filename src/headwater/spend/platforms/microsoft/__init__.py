"""Microsoft Advertising: reports that are prepared, then downloaded as a ZIP archive with a CSV file."""

from __future__ import annotations

import csv
import io
import zipfile
import zlib
from datetime import date
from importlib.resources import files
from itertools import chain, repeat
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from headwater.base.egress import microsoft_ads
from headwater.base.egress.answers import is_number, succeeded
from headwater.base.egress.calls import make_json_call
from headwater.base.egress.models import EgressRequest, EgressResponse
from headwater.http.inputs.account_kinds import AccountSettings
from headwater.http.inputs.account_settings import Version, digits
from headwater.spend.models import SpendRow
from headwater.spend.platforms.platform import (
    Credentials,
    Exchange,
    Fault,
    FaultCause,
    Level,
    Pause,
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
    read_money,
    read_name,
)

_ACCOUNTS_URL = "https://clientcenter.api.bingads.microsoft.com"
_POLL_SECONDS = (2.0, 5.0, 10.0, 30.0)
_FIGURES = ["Impressions", "Clicks", "Spend", "Conversions", "Revenue"]
_REPORTS = {
    Level.CAMPAIGN: ("CampaignPerformanceReportRequest", ["CampaignId", "CampaignName"]),
    Level.AD: (
        "AdPerformanceReportRequest",
        ["CampaignId", "CampaignName", "AdGroupId", "AdGroupName", "AdId", "AdTitle"],
    ),
}
_CAUSES = {
    **dict.fromkeys(microsoft_ads.TOKEN_CODES, FaultCause.TOKEN),
    microsoft_ads.PERMISSION_CODE: FaultCause.PERMISSION,
    **dict.fromkeys(microsoft_ads.RATE_CODES, FaultCause.THROTTLED),
    microsoft_ads.INTERNAL_CODE: FaultCause.TEMPORARY,
}
"""By error code."""


def _read_zones() -> list[list[str]]:
    lines = files(__name__).joinpath("zones.txt").read_text(encoding="utf-8").splitlines()
    return [line.split() for line in lines if not line.startswith("#")]


_ZONES = {names[1]: names[0] for names in _read_zones()}
_REPORT_ZONES = {names[0]: names[-1] for names in _read_zones()}


class MicrosoftSpendSettings(AccountSettings, frozen=True, kw_only=True):
    account_id: Annotated[
        str,
        digits(1, 20, "123456789"),
        Meta(description="Number of the ad account: `aid` in the address of Microsoft Advertising."),
    ]
    customer_id: Annotated[
        str,
        digits(1, 20, "12345678"),
        Meta(description="Number of the customer that owns the account: `cid` in that address."),
    ]
    api_version: Annotated[Version, Meta(description="Version of the Bing Ads API.")] = "v13"


class MicrosoftSpend(SpendPlatform):
    """The account's currency and time zone come from Customer Management: a report without rows has none."""

    name = "microsoft"
    title = "Microsoft Advertising"
    url = "https://reporting.api.bingads.microsoft.com"
    settings = MicrosoftSpendSettings
    secrets = microsoft_ads.SECRETS
    optional_secrets = microsoft_ads.OPTIONAL_SECRETS
    steps = (
        "In Microsoft Advertising, open Settings, Developer settings, and request a developer token.",
        "In the Microsoft Entra admin center, open App registrations, New registration.",
        "Copy the Application (client) ID, and for a web app a secret under Certificates & secrets.",
        "Sign in with the scope https://ads.microsoft.com/msads.manage offline_access for a refresh token.",
        "Copy the account's aid and cid from the address of Microsoft Advertising.",
    )
    limits = PullLimits(days=30, window=30)

    def token_request(self, account: Credentials, current_time: float) -> EgressRequest:
        return microsoft_ads.make_token_call(
            self.address(account.url, microsoft_ads.TOKEN_URL), account.secrets
        )

    def authorize(self, request: EgressRequest, credentials: Credentials) -> EgressRequest:
        if request.method == "GET":  # a download is at another company's address, which is signed
            return request
        authorized = super().authorize(request, credentials)
        settings: MicrosoftSpendSettings = credentials.settings
        account_headers = microsoft_ads.make_headers(
            credentials.secrets, settings.customer_id, settings.account_id
        )
        return msgspec.structs.replace(authorized, headers={**authorized.headers, **account_headers})

    def decode(self, answer: EgressResponse) -> Any:
        if not succeeded(answer) or not answer.body.startswith(b"PK"):
            return super().decode(answer)
        if answer.cut:
            raise Fault(FaultCause.TOO_LARGE, "The report is too large.")
        return _unpack(answer.body, self.limits.most_bytes)

    def find_fault(self, answer: EgressResponse, body: dict[str, Any]) -> Fault | None:
        errors = microsoft_ads.read_errors(body, "OperationErrors", "Errors", "BatchErrors")
        if not errors:
            return None if succeeded(answer) else _judge_plain(answer)
        code, name = errors[0].get("Code"), str(errors[0].get("ErrorCode"))
        cause = _CAUSES.get(code) if is_number(code) else None
        if "AccountId" in name:
            cause = FaultCause.ACCOUNT
        if cause is None:
            return judge_status(answer, name, errors[0].get("Message"))
        wait = microsoft_ads.RATE_SECONDS if cause is FaultCause.THROTTLED else None
        return Fault(cause, errors[0].get("Message"), f"code {code}", name, wait_seconds=wait)

    def read_account(self, credentials: Credentials) -> Exchange[SpendAccount]:
        settings: MicrosoftSpendSettings = credentials.settings
        url = f"{_ACCOUNTS_URL}/CustomerManagement/{settings.api_version}/Account/Query"
        question = {"AccountId": int(settings.account_id)}
        body = yield make_json_call(self.address(credentials.url, url), question)
        account = body["Account"]
        zone = _ZONES.get(account.get("TimeZone"))
        return make_account(settings.account_id, account.get("Name"), account["CurrencyCode"], zone)

    def read_rows(self, credentials: Credentials, report: ReportRequest) -> Exchange[list[SpendRow]]:
        url = f"{credentials.url}/Reporting/{credentials.settings.api_version}/GenerateReport"
        body = yield make_json_call(f"{url}/Submit", {"ReportRequest": _make_request(report)})
        address = yield from _wait_for_report(url, {"ReportRequestId": body["ReportRequestId"]})
        if address is None:
            return []
        text = yield EgressRequest(url=address, method="GET")
        return _read_rows(report.account, text)


def _wait_for_report(url: str, question: dict[str, str]) -> Exchange[str | None]:
    """Return a report's address; None if it has no rows. The engine ends a wait without end."""
    for seconds in chain(_POLL_SECONDS, repeat(_POLL_SECONDS[-1])):
        body = yield make_json_call(f"{url}/Poll", question)
        state = body["ReportRequestStatus"]
        if state["Status"] == "Success":
            return state.get("ReportDownloadUrl") or None
        if state["Status"] != "Pending":
            raise Fault(FaultCause.TEMPORARY, f"The report ended with the status {state['Status']}.")
        yield Pause(seconds)
    raise AssertionError


def _make_request(report: ReportRequest) -> dict[str, Any]:
    kind, levels = _REPORTS[report.level]
    first, last = report.days
    time: dict[str, Any] = {"CustomDateRangeStart": _make_day(first), "CustomDateRangeEnd": _make_day(last)}
    # Days are the account's; this is the zone of today, which no range may exceed.
    zone = _REPORT_ZONES.get(report.account.timezone or "")
    if zone is not None:
        time["ReportTimeZone"] = zone
    return {
        "Type": kind,
        "ReportName": "Headwater",
        "Format": "Csv",
        "FormatVersion": "2.0",
        "ReturnOnlyCompleteData": False,
        "ExcludeReportHeader": True,
        "ExcludeReportFooter": True,
        "ExcludeColumnHeaders": False,
        "Aggregation": "Daily",
        "Scope": {"AccountIds": [int(report.account.id)]},
        "Time": time,
        "Columns": ["TimePeriod", *levels, *_FIGURES],
    }


def _make_day(day: date) -> dict[str, int]:
    return {"Day": day.day, "Month": day.month, "Year": day.year}


def _judge_plain(answer: EgressResponse) -> Fault:
    """Judge an answer without errors in JSON."""
    if "xml" in answer.headers.get("content-type", ""):  # of a download, whose address expires soon
        return Fault(FaultCause.TEMPORARY, "The report cannot be downloaded.", f"HTTP {answer.status}")
    if answer.status == 404:  # the address of a version that was switched off
        return Fault(FaultCause.VERSION, "HTTP 404")
    return judge_status(answer)


def _unpack(packed: bytes, most_bytes: int) -> str:
    """Return the text of an archive's file. An archive can unpack to a thousand times its size."""
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive, archive.open(archive.namelist()[0]) as file:
            text = file.read(most_bytes + 1)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, IndexError):
        raise Fault(FaultCause.TEMPORARY, "The report's archive is damaged.") from None
    if len(text) > most_bytes:
        raise Fault(FaultCause.TOO_LARGE, "The report is too large.")
    return text.decode("utf-8-sig")


def _read_rows(account: SpendAccount, text: Any) -> list[SpendRow]:
    try:
        return [_read_row(account, item) for item in csv.DictReader(io.StringIO(text), strict=True)]
    except csv.Error:
        raise ValueError("the report is not CSV") from None


def _read_row(account: SpendAccount, item: dict[str, str]) -> SpendRow:
    levels = [("CampaignId", "CampaignName"), ("AdGroupId", "AdGroupName"), ("AdId", "AdTitle")]
    place = AdPlace(*((read_id(item[key]), read_name(item.get(name))) for key, name in levels if key in item))
    figures = Figures(
        read_money(item["Spend"]),
        read_count(item["Impressions"]),
        read_count(item["Clicks"]),
        read_money(item["Conversions"] or "0"),
        read_money(item["Revenue"] or "0"),
    )
    return make_row("microsoft", account, read_day(item["TimePeriod"]), place, figures)
