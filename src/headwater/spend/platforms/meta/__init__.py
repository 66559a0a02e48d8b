"""Meta's Marketing API: insights by day, synchronous and in pages."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any
from urllib.parse import urlencode

import msgspec
from msgspec import Meta as About

from headwater.base.egress.answers import get_nested, objects, succeeded
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

_FIELDS = {
    Level.CAMPAIGN: "campaign_id,campaign_name",
    Level.AD: "campaign_id,campaign_name,adset_id,adset_name,ad_id,ad_name",
}
_CAMPAIGN_STATES = ("ACTIVE", "ARCHIVED", "DELETED", "IN_PROCESS", "PAUSED", "WITH_ISSUES")
_AD_STATES = (
    *("ACTIVE", "ADSET_PAUSED", "ARCHIVED", "CAMPAIGN_PAUSED", "DELETED", "DISAPPROVED", "IN_PROCESS"),
    *("PAUSED", "PENDING_BILLING_INFO", "PENDING_REVIEW", "PREAPPROVED", "WITH_ISSUES"),
)
_ALL_STATES = {Level.CAMPAIGN: _CAMPAIGN_STATES, Level.AD: _AD_STATES}
"""Every effective status. Without a filter, deleted campaigns and ads are missing with their spend."""
_KINDS = {
    **dict.fromkeys((102, 190), FaultCause.TOKEN),
    **dict.fromkeys((4, 17, 32, 613, *range(80_000, 80_015)), FaultCause.THROTTLED),
    **dict.fromkeys((1, 2, 2637), FaultCause.TEMPORARY),
    **dict.fromkeys((10, *range(200, 300)), FaultCause.PERMISSION),
    2635: FaultCause.VERSION,
}
"""By error code."""
_TOO_LARGE = frozenset({(1, None), (100, 1504018), (2, 1504038)})
"""Codes and subcodes of questions that took too long."""
_SMALLER = "reduce the amount of data"
_ACTIVE = 1
_STATES = {2: "disabled", 3: "unsettled", 7: "in review", 9: "in a grace period", 101: "closed"}
"""Values of account_status other than active, in words."""
_CLOSED_STATUSES = frozenset({2, 3, 101})
"""An account in one of these states spends nothing."""


class _Usage(msgspec.Struct):
    estimated_time_to_regain_access: float = 0


_decode_usage = msgspec.json.Decoder(dict[str, list[_Usage]]).decode


class MetaSpendSettings(AccountSettings, frozen=True, kw_only=True):
    ad_account_id: Annotated[
        str,
        digits(1, 20, "1234567890"),
        About(description="Number of the ad account, without act_: in Ads Manager at the top left."),
    ]
    api_version: Annotated[PointVersion, About(description="Version of the Marketing API.")] = "v26.0"


class MetaSpend(SpendPlatform):
    name = "meta"
    title = "Meta"
    url = "https://graph.facebook.com"
    settings = MetaSpendSettings
    secrets = {
        "access_token": "Token of a system user with ads_read and the ad account assigned: Business settings,"
        " System users, Generate token."
    }
    steps = (
        "Open business.facebook.com, Settings, Users, System users. Add one with the role Employee.",
        "Assign assets, Ad accounts: choose the account and turn on View performance.",
        "Generate token: choose your app, Never expires, and the permission ads_read. Copy the token.",
        "In Ads Manager, copy the account's number from the list of accounts at the top left.",
    )
    limits = PullLimits(days=30, window=28)

    def find_fault(self, answer: EgressResponse, body: dict[str, Any]) -> Fault | None:
        error = body.get("error")
        if not isinstance(error, dict):
            return None if succeeded(answer) else judge_status(answer)
        code, subcode = get_nested(error, "code"), get_nested(error, "error_subcode")
        words = get_nested(error, "error_user_msg") or get_nested(error, "message")
        kind = _judge(code, subcode, str(words))
        if kind is FaultCause.THROTTLED:
            return Fault(kind, f"{words} (code {code})", wait_seconds=_read_wait(answer))
        return Fault(kind, f"{words} (code {code})")

    def read_account(self, credentials: Credentials) -> Exchange[SpendAccount]:
        account_id = credentials.settings.ad_account_id
        body = yield _get(
            credentials, f"act_{account_id}", fields="currency,timezone_name,name,account_status"
        )
        state = body.get("account_status", _ACTIVE)
        if state in _CLOSED_STATUSES:
            raise Fault(FaultCause.ACCOUNT, f"The ad account is {_STATES[state]}.")
        return make_account(account_id, body.get("name"), body["currency"], body.get("timezone_name"))

    def read_rows(self, credentials: Credentials, report: ReportRequest) -> Exchange[list[SpendRow]]:
        first, last = report.days
        fields = {
            "level": report.level,
            "time_increment": "1",
            "time_range": f'{{"since":"{first}","until":"{last}"}}',
            "fields": f"{_FIELDS[report.level]},date_start,impressions,clicks,spend,actions,action_values",
            "filtering": _filter_nothing(report.level),
            "limit": str(report.page_size),
        }
        rows: list[SpendRow] = []
        while True:
            body = yield _get(credentials, f"act_{report.account.id}/insights", **fields)
            rows += [_read_row(report.account, item) for item in objects(body["data"])]
            after = get_nested(body, "paging", "cursors", "after")
            if not after or get_nested(body, "paging", "next") is None:
                return rows
            fields["after"] = after


def _get(credentials: Credentials, path: str, **fields: str) -> EgressRequest:
    url = f"{credentials.url}/{credentials.settings.api_version}/{path}?{urlencode(fields)}"
    return EgressRequest(url=url, method="GET")


def _filter_nothing(level: Level) -> str:
    field, states = f"{level}.effective_status", _ALL_STATES[level]
    return msgspec.json.encode([{"field": field, "operator": "IN", "value": states}]).decode()


def _read_row(account: SpendAccount, item: dict[str, Any]) -> SpendRow:
    figures = Figures(
        read_money(item.get("spend", "0")),
        read_count(item.get("impressions")),
        read_count(item.get("clicks")),
        _read_purchases(item.get("actions")),
        _read_purchases(item.get("action_values")),
    )
    return make_row("meta", account, read_day(item["date_start"]), read_place(item), figures)


def _read_purchases(actions: Any) -> Decimal:
    """Sum up purchases on every device and channel, which Meta lists only if there are some."""
    values = [item["value"] for item in objects(actions) if item.get("action_type") == "omni_purchase"]
    return sum(map(read_money, values), Decimal(0))


def _judge(code: Any, subcode: Any, words: str) -> FaultCause:
    if (code, subcode) in _TOO_LARGE or _SMALLER in words:
        return FaultCause.TOO_LARGE
    if (code, subcode) == (100, 33):
        return FaultCause.ACCOUNT
    return _KINDS.get(code, FaultCause.REFUSED)


def _read_wait(answer: EgressResponse) -> float | None:
    """Return the seconds until access returns, the longest that is named."""
    try:
        usage = _decode_usage(answer.headers.get("x-business-use-case-usage", "{}"))
    except msgspec.MsgspecError:
        return None
    waits = [60.0 * limit.estimated_time_to_regain_access for limits in usage.values() for limit in limits]
    return max(waits, default=None)
