"""The files in which ad platforms, and tools that gather their figures, export spend: each is known
by its header. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

Aliases = Mapping[str, tuple[str, ...]]

_HIERARCHY: Aliases = {
    "account_id": ("accountid", "customerid", "adaccountid", "accountnumber"),
    "campaign_id": ("campaignid",),
    "campaign_name": ("campaignname", "campaign"),
    "adset_id": ("adgroupid", "adsetid"),
    "adset_name": ("adgroupname", "adgroup", "adsetname"),
    "ad_id": ("adid",),
    "ad_name": ("adname",),
}
_FIGURES: Aliases = {
    "currency": ("currencycode", "currency", "accountcurrency"),
    "country": ("countrycode", "country"),
    "impressions": ("impressions", "impr", "impression"),
    "clicks": ("clicks",),
}


@dataclass(frozen=True)
class FileFormat:
    """One sort of file: which column is which field, by the column's letters and digits alone."""

    name: str
    title: str
    """The name that people know it by."""
    needs: tuple[tuple[str, ...], ...]
    """Columns by which it is known: one of each."""
    aliases: Aliases
    """The columns that a field may have, the likeliest first, besides those of all formats."""
    platform: str | None = None
    """The platform of every row, where no column names it."""
    month_first: bool = False
    """True when dates with slashes begin with the month."""


FORMATS = (
    FileFormat(
        "headwater",
        "a table with the fields of the API",
        (("date",), ("platform",), ("amount",)),
        {
            "date": ("date",), "platform": ("platform",), "amount": ("amount",),
            "platform_conversions": ("platformconversions",),
            "platform_revenue": ("platformrevenue",), "timezone": ("timezone",),
        },
    ),
    FileFormat(
        "dbt",
        "a table of the dbt package ad_reporting",
        (("dateday",), ("platform",), ("spend",)),
        {
            "date": ("dateday",), "platform": ("platform",), "amount": ("spend",),
            "platform_conversions": ("conversions",), "platform_revenue": ("conversionsvalue",),
        },
    ),
    FileFormat(
        "ga4",
        "the template for cost in Google Analytics",
        (("utmsource", "sessionsource", "campaignsource"), ("date",), ("cost",)),
        {
            "date": ("date",), "platform": ("utmsource", "sessionsource", "campaignsource"),
            "campaign_id": ("utmid", "campaignid"),
            "campaign_name": ("utmcampaign", "campaignname"), "amount": ("cost",),
        },
    ),
    FileFormat(
        "meta",
        "an export of Meta Ads Manager",
        (("amountspent",), ("day", "reportingstarts", "datestart")),
        {
            "date": ("day", "reportingstarts", "datestart"), "amount": ("amountspent",),
            "clicks": ("linkclicks", "clicksall", "clicks"),
            "platform_conversions": ("purchases", "websitepurchases", "results"),
            "platform_revenue": ("purchasesconversionvalue", "websitepurchasesconversionvalue"),
        },
        platform="meta",
    ),
    FileFormat(
        "linkedin",
        "an export of LinkedIn Campaign Manager",
        (("totalspent",), ("startdateinutc", "startdate", "date")),
        {
            "date": ("startdateinutc", "startdate", "date"), "amount": ("totalspent",),
            # Its campaigns stand below campaign groups, as ad sets elsewhere below campaigns.
            "campaign_id": ("campaigngroupid",), "campaign_name": ("campaigngroupname",),
            "adset_id": ("campaignid",), "adset_name": ("campaignname",),
            "ad_id": ("creativeid", "adid"), "ad_name": ("creativename", "adname"),
            "platform_conversions": ("conversions",),
            "platform_revenue": ("totalconversionvalue",),
        },
        platform="linkedin",
        month_first=True,
    ),
    FileFormat(
        "tiktok",
        "an export of TikTok Ads Manager",
        (
            ("cost",), ("byday", "stattimeday", "date"),
            ("clicksdestination", "adgroupname", "clicksall", "campaignname"),
        ),
        {
            "date": ("byday", "stattimeday", "date"), "amount": ("cost",),
            "clicks": ("clicksdestination", "clicks", "clicksall"),
            "platform_conversions": ("conversions", "conversion"),
            "platform_revenue": ("totalpurchasevalue", "purchasevaluewebsite"),
        },
        platform="tiktok",
    ),
    FileFormat(
        "google",
        "a report of Google Ads",
        (("cost",), ("day", "date", "segmentsdate")),
        {
            "date": ("day", "date", "segmentsdate"), "amount": ("cost",),
            "platform_conversions": ("conversions", "conv"),
            "platform_revenue": ("convvalue", "conversionvalue", "conversionsvalue"),
        },
        platform="google",
    ),
    FileFormat(
        "microsoft",
        "a report of Microsoft Advertising",
        (
            ("spend",), ("gregoriandate", "timeperiod", "day", "date"),
            ("accountnumber", "accountname", "accountid", "campaignid", "campaign", "campaignname"),
        ),
        {
            "date": ("gregoriandate", "timeperiod", "day", "date"), "amount": ("spend",),
            "platform_conversions": ("conversions", "conv", "conversionsqualified"),
            "platform_revenue": ("revenue", "allrevenue"),
        },
        platform="microsoft",
        month_first=True,
    ),
)  # fmt: skip
"""Those that have the most to be known by come first."""
BY_NAME = {form.name: form for form in FORMATS}

_IN_CURRENCY = re.compile(r"(amountspent)([a-z]{3})")
"""Meta's column names the currency."""


@dataclass(frozen=True)
class Recognition:
    """A file's header as a format reads it."""

    form: FileFormat
    columns: Mapping[str, str]
    """The field of each column that is one."""
    constants: Mapping[str, str] = field(default_factory=dict[str, str])
    """Fields that are the same in every row."""


def recognize(header: Sequence[str], name: str | None = None) -> Recognition | None:
    """Return how a header is read, by the format of a name or by that which it is known as; None
    where it is none of them.
    """
    plain, currency = _plain_columns(header)
    for form in FORMATS if name is None else (BY_NAME[name],):
        if all(any(column in plain for column in choice) for choice in form.needs):
            constants = {"platform": form.platform} if form.platform else {}
            columns = _fields(form, plain)
            if currency and "currency" not in columns.values():
                constants["currency"] = currency
            return Recognition(form, columns, constants)
    return None


def as_mapped(header: Sequence[str], columns: Mapping[str, str]) -> Recognition | None:
    """Return how a header is read of which somebody has named the columns; None where it lacks
    one of them, or where none is named.
    """
    if not columns or not set(columns) <= set(header):
        return None
    return Recognition(BY_NAME["headwater"], columns)


def _plain_columns(header: Sequence[str]) -> tuple[dict[str, str], str]:
    """Return columns by their letters and digits, and the currency that one of them names."""
    plain: dict[str, str] = {}
    currency = ""
    for column in header:
        word = "".join(letter for letter in column.casefold() if letter.isalnum())
        match = _IN_CURRENCY.fullmatch(word)
        if match is not None:
            word, currency = match[1], match[2].upper()
        plain.setdefault(word, column)
    return plain, currency


def _fields(form: FileFormat, plain: Mapping[str, str]) -> dict[str, str]:
    wanted = {**_HIERARCHY, **_FIGURES, **form.aliases}
    columns: dict[str, str] = {}
    for name, aliases in wanted.items():
        column = next((plain[alias] for alias in aliases if alias in plain), None)
        if column is not None and column not in columns:
            columns[column] = name
    if not any(name.startswith("campaign_") for name in columns.values()):
        # Of LinkedIn's without campaign groups, the campaigns are the coarsest there is.
        columns = {column: _COARSER.get(name, name) for column, name in columns.items()}
    return columns


_COARSER = {
    "adset_id": "campaign_id", "adset_name": "campaign_name", "ad_id": "adset_id",
    "ad_name": "adset_name",
}  # fmt: skip
