"""Google Ads API: a query a level, over REST and in pages."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from headwater.base.egress.answers import get_nested, objects, read_duration, succeeded
from headwater.base.egress.calls import make_json_call
from headwater.base.egress.models import EgressRequest, EgressResponse
from headwater.base.egress.oauth import GOOGLE_TOKEN_URL, find_google_problem, make_google_call
from headwater.http.inputs.account_kinds import AccountSettings
from headwater.http.inputs.account_settings import Version, digits
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
    AdPlace,
    Figures,
    make_account,
    make_row,
    read_count,
    read_day,
    read_id,
    read_micros,
    read_money,
    read_name,
)

_SCOPE = "https://www.googleapis.com/auth/adwords"
_ACCOUNT = (
    "SELECT customer.id, customer.descriptive_name, customer.currency_code, customer.time_zone,"
    " customer.manager FROM customer"
)
_RESOURCES = {Level.CAMPAIGN: "campaign", Level.AD: "ad_group_ad"}
_FIELDS = {
    Level.CAMPAIGN: "campaign.id, campaign.name",
    Level.AD: "campaign.id, campaign.name, ad_group.id, ad_group.name,"
    " ad_group_ad.ad.id, ad_group_ad.ad.name",
}
_FIGURES = (
    "segments.date, metrics.cost_micros, metrics.impressions, metrics.clicks, metrics.conversions,"
    " metrics.conversions_value"
)
_BY_CATEGORY = {
    "authenticationError": FaultCause.TOKEN,
    "authorizationError": FaultCause.PERMISSION,
    "quotaError": FaultCause.THROTTLED,
    "internalError": FaultCause.TEMPORARY,
}
_BY_CODE = {
    "CLIENT_CUSTOMER_ID_INVALID": FaultCause.ACCOUNT,
    "CUSTOMER_NOT_FOUND": FaultCause.ACCOUNT,
    "CUSTOMER_NOT_ENABLED": FaultCause.ACCOUNT,
    "INVALID_CUSTOMER_ID": FaultCause.ACCOUNT,
    "ACCESS_PROHIBITED": FaultCause.PERMISSION,
    "NOT_ADS_USER": FaultCause.PERMISSION,
    "EXPIRED_PAGE_TOKEN": FaultCause.TEMPORARY,
    "UNSUPPORTED_VERSION": FaultCause.VERSION,
}
"""Codes with another cause than their category, and codes without a category."""


class GoogleSpendSettings(AccountSettings, frozen=True, kw_only=True):
    customer_id: Annotated[
        str,
        digits(10, 10, "1234567890"),
        Meta(description="Number of the ad account: at the top right of Google Ads, here without dashes."),
    ]
    login_customer_id: Annotated[
        Annotated[str, digits(10, 10, "1234567890")] | None,
        Meta(description="Number of the manager account through which you have access, without dashes."),
    ] = None
    api_version: Annotated[Version, Meta(description="Version of the Google Ads API.")] = "v26"


class GoogleSpend(SpendPlatform):
    """Uses `search` with its pages of 10,000 rows: an answer of `searchStream` has no bound."""

    name = "google"
    title = "Google Ads"
    url = "https://googleads.googleapis.com"
    settings = GoogleSpendSettings
    secrets = {
        "developer_token": "Developer token of your manager account: Google Ads, Admin, API Center.",
        "service_account_json": "JSON key file of a service account that is a user of the ad account: Google"
        " Cloud, IAM, Service accounts, Keys.",
        "client_id": "Client id of an OAuth client, with client_secret and refresh_token.",
        "client_secret": "Client secret of the OAuth client.",
        "refresh_token": "Refresh token of a user of the ad account.",
    }
    optional_secrets = frozenset(secrets) - {"developer_token"}
    steps = (
        "In the manager account at Google Ads, open Admin, API Center, and copy the developer token.",
        "In the Google Cloud console, open APIs & Services, Library, and enable the Google Ads API.",
        "Under IAM & Admin, Service Accounts, create an account and, under Keys, a JSON key.",
        "In Google Ads, under Admin, Access and security, add the account's e-mail as Read only.",
        "Copy the ad account's number at the top right of Google Ads.",
    )
    limits = PullLimits(days=30, window=30, weekly_window=90)
    # Of later versions Google publishes only the month: its first day.
    versions = {
        "v22": date(2026, 10, 7),
        "v23": date(2027, 2, 1),
        "v24": date(2027, 5, 1),
        "v25": date(2027, 8, 1),
        "v26": date(2027, 11, 1),
    }
    gaps = "Performance Max campaigns have no ads: their spend is known by campaign only."

    def secrets_problem(self, secrets: Mapping[str, str]) -> str | None:
        return find_google_problem(secrets)

    def token_request(self, account: Credentials, current_time: float) -> EgressRequest:
        url = self.address(account.url, GOOGLE_TOKEN_URL)
        return make_google_call(url, account.secrets, _SCOPE, current_time)

    def authorize(self, request: EgressRequest, credentials: Credentials) -> EgressRequest:
        authorized = super().authorize(request, credentials)
        headers = {**authorized.headers, "developer-token": credentials.secrets["developer_token"]}
        if credentials.settings.login_customer_id is not None:
            headers["login-customer-id"] = credentials.settings.login_customer_id
        return msgspec.structs.replace(authorized, headers=headers)

    def find_fault(self, answer: EgressResponse, body: dict[str, Any]) -> Fault | None:
        if succeeded(answer):
            return None
        error = get_nested(body or _read_first(answer), "error")
        details = objects(get_nested(error, "details"))
        failures = [failure for detail in details for failure in objects(detail.get("errors"))]
        if not failures:
            if error is None and answer.status == 404:  # the address of a version that was switched off
                return Fault(FaultCause.VERSION, "HTTP 404")
            return judge_status(answer, get_nested(error, "status"), get_nested(error, "message"))
        failure = failures[0]
        category, code = next(iter((get_nested(failure, "errorCode") or {"": ""}).items()))
        cause = _BY_CODE.get(code) or _BY_CATEGORY.get(category)
        if cause is None:
            return judge_status(answer, code, failure.get("message"))
        wait = read_duration(get_nested(failure, "details", "quotaErrorDetails", "retryDelay"))
        return Fault(cause, failure.get("message"), code, wait_seconds=wait)

    def read_account(self, credentials: Credentials) -> Exchange[SpendAccount]:
        body = yield _search(credentials, {"query": _ACCOUNT})
        customer = body["results"][0]["customer"]
        if customer.get("manager"):
            words = "This is a manager account. Enter an ad account, and this one as login_customer_id."
            raise Fault(FaultCause.ACCOUNT, words)
        return make_account(
            credentials.settings.customer_id,
            customer.get("descriptiveName"),
            customer["currencyCode"],
            customer["timeZone"],
        )

    def read_rows(self, credentials: Credentials, report: ReportRequest) -> Exchange[list[SpendRow]]:
        level, (first, last) = report.level, report.days
        fields = f"SELECT {_FIELDS[level]}, {_FIGURES} FROM {_RESOURCES[level]}"
        question = {"query": f"{fields} WHERE segments.date BETWEEN '{first}' AND '{last}'"}
        rows: list[SpendRow] = []
        while True:
            body = yield _search(credentials, question)
            rows += [_read_row(report.account, item) for item in objects(body.get("results"))]
            page = body.get("nextPageToken")
            if not page:
                return rows
            question["pageToken"] = page


def _search(credentials: Credentials, question: dict[str, str]) -> EgressRequest:
    settings: GoogleSpendSettings = credentials.settings
    path = f"{settings.api_version}/customers/{settings.customer_id}/googleAds:search"
    return make_json_call(f"{credentials.url}/{path}", question)


def _read_row(account: SpendAccount, item: dict[str, Any]) -> SpendRow:
    parts = (item["campaign"], item.get("adGroup"), get_nested(item, "adGroupAd", "ad"))
    place = AdPlace(*((read_id(part["id"]), read_name(part.get("name"))) for part in parts if part))
    metrics = item["metrics"]
    figures = Figures(
        read_micros(metrics.get("costMicros", "0")),
        read_count(metrics.get("impressions")),
        read_count(metrics.get("clicks")),
        read_money(metrics.get("conversions", 0)),
        read_money(metrics.get("conversionsValue", 0)),
    )
    return make_row("google", account, read_day(item["segments"]["date"]), place, figures)


def _read_first(answer: EgressResponse) -> dict[str, Any]:
    """Return the first object of a list: Google wraps some errors in one."""
    try:
        items = objects(msgspec.json.decode(answer.body))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return items[0] if items else {}
