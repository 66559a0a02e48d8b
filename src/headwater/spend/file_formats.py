"""The spend exports of ad platforms and reporting tools, recognized by their columns. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

Aliases = Mapping[str, tuple[str, ...]]

HIERARCHY: Aliases = {
    # Not Microsoft's account number: its API names an account by another one.
    "account_id": ("accountid", "customerid", "adaccountid"),
    "campaign_id": ("campaignid",),
    "campaign_name": ("campaignname", "campaign"),
    "adset_id": ("adgroupid", "adsetid", "adsquadid"),
    "adset_name": ("adgroupname", "adgroup", "adsetname", "adset", "adsquadname", "adsquad"),
    "ad_id": ("adid",),
    "ad_name": ("adname", "ad"),
}
FIGURES: Aliases = {
    "currency": ("currencycode", "currency", "accountcurrency"),
    "country": ("countrycode", "country"),
    "impressions": ("impressions", "impr", "impression"),
    "clicks": ("clicks",),
}


class FileFormat(Struct, frozen=True):
    """A file format: the columns of each field, by letters and digits only."""

    name: str
    title: str
    needs: tuple[tuple[str, ...], ...]
    """Required columns: one of each group."""
    aliases: Aliases
    """Possible columns of a field, the most likely first, besides the common ones."""
    known_by: tuple[str, ...] = ()
    """Columns that only this platform has. One is required unless the format is selected by name."""
    platform: str | None = None
    last_days: tuple[str, ...] = ()
    """Columns with the last day of a row's period, if the first day is its date."""


FORMATS = (
    FileFormat(
        "headwater",
        "a table with the fields of the API",
        (("date",), ("platform",), ("amount",)),
        {
            "date": ("date",),
            "platform": ("platform",),
            "amount": ("amount",),
            "platform_conversions": ("platformconversions",),
            "platform_revenue": ("platformrevenue",),
            "timezone": ("timezone",),
        },
    ),
    FileFormat(
        "dbt",
        "a table of the dbt package ad_reporting",
        (("dateday",), ("platform",), ("spend",)),
        {
            "date": ("dateday",),
            "platform": ("platform",),
            "amount": ("spend",),
            "platform_conversions": ("conversions",),
            "platform_revenue": ("conversionsvalue",),
        },
    ),
    FileFormat(
        "ga4",
        "the template for cost in Google Analytics",
        (("utmsource", "sessionsource", "campaignsource"), ("date",), ("cost",)),
        {
            "date": ("date",),
            "platform": ("utmsource", "sessionsource", "campaignsource"),
            "campaign_id": ("utmid", "campaignid"),
            "campaign_name": ("utmcampaign", "campaignname"),
            "amount": ("cost",),
        },
    ),
    FileFormat(
        "pinterest",
        "an export of Pinterest Ads Manager",
        (("spendinaccountcurrency", "spend"), ("date", "day")),
        {
            "date": ("date", "day"),
            "amount": ("spendinaccountcurrency", "spend"),
            "clicks": ("pinclicks", "clicks", "outboundclicks"),
            "platform_conversions": ("totalconversions", "conversions"),
            "platform_revenue": ("totalconversionvalue", "totalordervalue"),
        },
        known_by=("spendinaccountcurrency", "pinclicks", "pinpromotionid"),
        platform="pinterest",
    ),
    FileFormat(
        "snapchat",
        "an export of Snapchat Ads Manager",
        (("amountspent", "spend"), ("date", "day")),
        {
            "date": ("date", "day"),
            "amount": ("amountspent", "spend"),
            "impressions": ("paidimpressions", "impressions"),
            "clicks": ("swipeups", "swipes", "clicks"),
            "platform_conversions": ("purchases", "conversions"),
            "platform_revenue": ("purchasesvalue", "conversionpurchasesvalue"),
        },
        known_by=("adsquadid", "adsquadname", "adsquad", "swipeups", "swipes", "paidimpressions"),
        platform="snapchat",
    ),
    FileFormat(
        "reddit",
        "an export of Reddit Ads",
        (("amountspent", "spend"), ("date", "day")),
        {
            "date": ("date", "day"),
            "amount": ("amountspent", "spend"),
            "platform_conversions": ("conversions", "purchases"),
            "platform_revenue": ("totalvalue", "conversionvalue"),
        },
        known_by=("ecpm", "redditcampaignid"),
        platform="reddit",
    ),
    FileFormat(
        "x",
        "an export of X Ads",
        (("spend",), ("timeperiod", "date", "day")),
        {
            "date": ("timeperiod", "date", "day"),
            "amount": ("spend",),
            "clicks": ("linkclicks", "clicks"),
            "platform_conversions": ("purchases", "conversions"),
            "platform_revenue": ("purchasessaleamount", "salesamount"),
        },
        known_by=("fundingsourceid", "fundingsourcename", "fundingsource", "tweetid"),
        platform="x",
    ),
    FileFormat(
        "meta",
        "an export of Meta Ads Manager",
        (("amountspent",), ("day", "reportingstarts", "datestart")),
        {
            "date": ("day", "reportingstarts", "datestart"),
            "amount": ("amountspent",),
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
            "date": ("startdateinutc", "startdate", "date"),
            "amount": ("totalspent",),
            # LinkedIn's campaigns are grouped in campaign groups, like ad sets in
            # campaigns elsewhere.
            "campaign_id": ("campaigngroupid",),
            "campaign_name": ("campaigngroupname",),
            "adset_id": ("campaignid",),
            "adset_name": ("campaignname",),
            "ad_id": ("creativeid", "adid"),
            "ad_name": ("creativename", "adname"),
            "platform_conversions": ("conversions",),
            "platform_revenue": ("totalconversionvalue",),
        },
        platform="linkedin",
        last_days=("enddateinutc", "enddate"),
    ),
    FileFormat(
        "tiktok",
        "an export of TikTok Ads Manager",
        (("cost",), ("byday", "stattimeday", "date")),
        {
            "date": ("byday", "stattimeday", "date"),
            "amount": ("cost",),
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
            "date": ("day", "date", "segmentsdate"),
            "amount": ("cost",),
            "platform_conversions": ("conversions", "conv"),
            "platform_revenue": ("convvalue", "conversionvalue", "conversionsvalue"),
        },
        known_by=("currencycode", "customerid", "impr", "convvalue", "adgroup", "segmentsdate"),
        platform="google",
    ),
    FileFormat(
        "microsoft",
        "a report of Microsoft Advertising",
        (("spend",), ("gregoriandate", "timeperiod", "day", "date")),
        {
            "date": ("gregoriandate", "timeperiod", "day", "date"),
            "amount": ("spend",),
            "platform_conversions": ("conversions", "conv", "conversionsqualified"),
            "platform_revenue": ("revenue", "allrevenue"),
        },
        known_by=("gregoriandate", "accountnumber", "currencycode", "impr"),
        platform="microsoft",
    ),
)
"""The formats with the most distinctive columns come first."""
_DAYS = ("day", "date", "dateday", "byday", "timeperiod", "gregoriandate", "reportingstarts", "startdate")
MONEY = ("amount", "amountspent", "spend", "cost", "totalspent", "totalspend", "totalcost", "adspend")
"""Money columns that may name their currency."""
GENERIC = FileFormat(
    "generic",
    "a table of any platform",
    (MONEY, _DAYS),
    {
        "date": _DAYS,
        "amount": MONEY,
        "platform": ("platform",),
        "clicks": ("clicks", "linkclicks", "clicksall"),
        "platform_conversions": ("conversions", "conv", "purchases", "platformconversions"),
        "platform_revenue": ("revenue", "conversionvalue", "convvalue", "platformrevenue"),
    },
    last_days=("reportingends", "enddate"),
)
BY_NAME = {form.name: form for form in (*FORMATS, GENERIC)}
PERIODS = ("week", "month", "quarter", "year", "hour", "weekstart", "monthstart")
"""Columns showing that rows don't cover single days."""
