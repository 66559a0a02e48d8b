"""Parameters to paste into the settings of ad platforms, which fill in the placeholders.

The placeholders are those that the platforms document, looked up in November 2026:

- Meta: developers.facebook.com, "Use URL Tags for Tracking" (Instagram ads API guides)
- Google: developers.google.com, "ValueTrack mapping" (Google Ads API, reporting), and
  support.google.com/sa360/answer/9246757 for the final URL suffix
- TikTok: ads.tiktok.com/help/article?aid=6669666107177041925, "Third Party Tracking"
- LinkedIn: learn.microsoft.com, "Dynamic UTM Tracking" (LinkedIn marketing, ads reporting)
- Microsoft: help.ads.microsoft.com/apex/index/3/en/56799, on tracking and URL parameters
- Pinterest: help.pinterest.com/en/business/article/third-party-and-dynamic-tracking; the names of
  the placeholders after support.smartly.io, "Tracking macros in Pinterest", and urlmacros.com
- Snapchat: Snap's "Appending URL Parameters in the Snapchat Catalog", as quoted by
  help.godatafeed.com/hc/en-us/articles/360051303951

Reddit documents placeholders for third-party trackers alone, and none for a link's address that
could be confirmed: it has no template.
"""

from __future__ import annotations

import msgspec


class LinkTemplate(msgspec.Struct, frozen=True, gc=False):
    platform: str
    source: str
    where: str
    parameters: tuple[tuple[str, str], ...]

    @property
    def text(self) -> str:
        return "&".join(f"{name}={value}" for name, value in self.parameters)


TEMPLATES = (
    LinkTemplate(
        "Meta",
        "facebook_ads",
        "In Ads Manager, in the ad's Tracking section, under URL parameters.",
        (
            ("utm_source", "facebook"),
            ("utm_medium", "paid_social"),
            ("utm_campaign", "{{campaign.name}}"),
            ("utm_term", "{{adset.name}}"),
            ("utm_content", "{{ad.name}}"),
            ("campaign_id", "{{campaign.id}}"),
            ("adset_id", "{{adset.id}}"),
            ("ad_id", "{{ad.id}}"),
        ),
    ),
    LinkTemplate(
        "Google",
        "google_ads",
        "In the account settings, under Tracking, in Final URL suffix. Google has no campaign names "
        "here: name the ids in the ad catalogue.",
        (
            ("utm_source", "google"),
            ("utm_medium", "cpc"),
            ("utm_id", "{campaignid}"),
            ("adgroupid", "{adgroupid}"),
            ("utm_content", "{creative}"),
            ("utm_term", "{keyword}"),
        ),
    ),
    LinkTemplate(
        "TikTok",
        "tiktok_ads",
        "At the end of the ad's URL, after a question mark.",
        (
            ("utm_source", "tiktok"),
            ("utm_medium", "paid_social"),
            ("utm_campaign", "__CAMPAIGN_NAME__"),
            ("utm_term", "__AID_NAME__"),
            ("utm_content", "__CID_NAME__"),
            ("campaign_id", "__CAMPAIGN_ID__"),
            ("adset_id", "__AID__"),
            ("ad_id", "__CID__"),
        ),
    ),
    LinkTemplate(
        "LinkedIn",
        "linkedin_ads",
        "In Campaign Manager, in the campaign's tracking parameters. LinkedIn has a field for each "
        "name; choose values in capitals from its list.",
        (
            ("utm_source", "linkedin"),
            ("utm_medium", "paid_social"),
            ("utm_campaign", "CAMPAIGN_NAME"),
            ("campaign_id", "CAMPAIGN_ID"),
            ("ad_id", "CREATIVE_ID"),
        ),
    ),
    LinkTemplate(
        "Microsoft",
        "bing_ads",
        "In the account settings, under URL options, in Final URL suffix.",
        (
            ("utm_source", "bing"),
            ("utm_medium", "cpc"),
            ("utm_campaign", "{Campaign}"),
            ("campaign_id", "{CampaignId}"),
            ("adset_name", "{AdGroup}"),
            ("adset_id", "{AdGroupId}"),
            ("utm_content", "{AdId}"),
            ("utm_term", "{keyword}"),
        ),
    ),
    LinkTemplate(
        "Pinterest",
        "pinterest_ads",
        "At the end of the ad's destination URL, after a question mark.",
        (
            ("utm_source", "pinterest"),
            ("utm_medium", "paid_social"),
            ("utm_campaign", "{campaignname}"),
            ("utm_term", "{adgroupname}"),
            ("campaign_id", "{campaignid}"),
            ("adset_id", "{adgroupid}"),
            ("ad_id", "{adid}"),
        ),
    ),
    LinkTemplate(
        "Snapchat",
        "snapchat_ads",
        "At the end of the ad's website URL, after a question mark.",
        (
            ("utm_source", "snapchat"),
            ("utm_medium", "paid_social"),
            ("utm_campaign", "{{campaign.name}}"),
            ("utm_term", "{{adSet.name}}"),
            ("campaign_id", "{{campaign.id}}"),
            ("adset_id", "{{adSet.id}}"),
            ("ad_id", "{{ad.id}}"),
        ),
    ),
)
