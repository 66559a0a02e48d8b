"""The files in which ad platforms, and tools that gather their figures, export spend: each is known
by its header. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files

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
    """Columns without which it is not read: one of each."""
    aliases: Aliases
    """The columns that a field may have, the likeliest first, besides those of all formats."""
    known_by: tuple[str, ...] = ()
    """Columns that no other platform has; one has to be there, unless the format is named."""
    platform: str | None = None
    """The platform of every row, where no column names it."""
    last_days: tuple[str, ...] = ()
    """Columns with the last day of what a row is of, where that of the first is its day."""
    month_first: bool = False
    """True when dates with slashes are likelier to begin with the month."""


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
        last_days=("reportingends", "datestop"),
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
        last_days=("enddateinutc", "enddate"),
        month_first=True,
    ),
    FileFormat(
        "tiktok",
        "an export of TikTok Ads Manager",
        (("cost",), ("byday", "stattimeday", "date")),
        {
            "date": ("byday", "stattimeday", "date"), "amount": ("cost",),
            "clicks": ("clicksdestination", "clicks", "clicksall"),
            "platform_conversions": ("conversions", "conversion"),
            "platform_revenue": ("totalpurchasevalue", "purchasevaluewebsite"),
        },
        known_by=("byday", "stattimeday", "clicksdestination", "ctrdestination", "cpcdestination"),
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
        known_by=(
            "currencycode", "customerid", "impr", "convvalue", "adgroup", "segmentsdate",
        ),
        platform="google",
    ),
    FileFormat(
        "microsoft",
        "a report of Microsoft Advertising",
        (("spend",), ("gregoriandate", "timeperiod", "day", "date")),
        {
            "date": ("gregoriandate", "timeperiod", "day", "date"), "amount": ("spend",),
            "platform_conversions": ("conversions", "conv", "conversionsqualified"),
            "platform_revenue": ("revenue", "allrevenue"),
        },
        known_by=("gregoriandate", "accountnumber", "currencycode", "impr"),
        platform="microsoft",
        month_first=True,
    ),
)  # fmt: skip
"""Those that have the most to be known by come first."""
BY_NAME = {form.name: form for form in FORMATS}

_IN_CURRENCY = re.compile(r"(.+)\(([A-Z]{3})\)", re.IGNORECASE)
"""A column of money that names its currency: `Amount spent (EUR)`."""
_MONEY = {"amountspent", "cost", "spend", "totalspent"}


def _plain(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def _translations() -> dict[str, str]:
    """Return what columns are called in English, by what they are called elsewhere."""
    text = files("headwater.spend").joinpath("column_names.txt").read_text(encoding="utf-8")
    lines = [line.split(":") for line in text.splitlines() if line.strip() and line[0] != "#"]
    return {_plain(name): _plain(english) for english, names in lines for name in names.split(",")}


_ENGLISH = _translations()


@dataclass(frozen=True)
class Recognition:
    """A file's header as a format reads it."""

    form: FileFormat
    columns: Mapping[str, str]
    """The field of each column that is one."""
    constants: Mapping[str, str] = field(default_factory=dict[str, str])
    """Fields that are the same in every row."""
    last_day: str | None = None
    """The column with the last day of what a row is of."""


def recognize(header: Sequence[str], name: str | None = None) -> Recognition | None:
    """Return how a header is read, by the format of a name or by that which it is known as; None
    where it is none of them.
    """
    plain, currency = _plain_columns(header)
    for form in FORMATS if name is None else (BY_NAME[name],):
        needs = form.needs if name or not form.known_by else (*form.needs, form.known_by)
        if all(any(column in plain for column in choice) for choice in needs):
            constants = {"platform": form.platform} if form.platform else {}
            columns = _fields(form, plain)
            if currency and "currency" not in columns.values():
                constants["currency"] = currency
            return Recognition(form, columns, constants, _last_day(form, plain))
    return None


def _last_day(form: FileFormat, plain: Mapping[str, str]) -> str | None:
    """Return the column with the last day; none where the day has a column of its own."""
    if "day" in plain:
        return None
    return next((plain[name] for name in form.last_days if name in plain), None)


def as_mapped(header: Sequence[str], columns: Mapping[str, str]) -> Recognition | None:
    """Return how a header is read of which somebody has named the columns; None where it lacks
    one of them, or where none is named.
    """
    if not columns or not set(columns) <= set(header):
        return None
    return Recognition(BY_NAME["headwater"], columns)


def _plain_columns(header: Sequence[str]) -> tuple[dict[str, str], str]:
    """Return columns by the letters and digits of their English names, and the currency that the
    first column of money names.
    """
    plain: dict[str, str] = {}
    currency = ""
    for column in header:
        match = _IN_CURRENCY.fullmatch(column)
        without = _in_english(match[1]) if match else ""
        is_money = match is not None and without in _MONEY
        if match is not None and is_money:
            currency = currency or match[2].upper()
        plain.setdefault(without if is_money else _in_english(column), column)
    return plain, currency


def _in_english(column: str) -> str:
    word = _plain(column)
    return _ENGLISH.get(word, word)


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
