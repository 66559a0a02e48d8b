"""Our requests mean the same as requests of TikTok's official Python client."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.pulls.books import Books, fill
from tests.pulls.checks import serve_platform
from tests.pulls.meaning import meaning
from tests.pulls.staging import TODAY, Pulls
from tests.pulls.tiktok.pretend import TOKEN, PretendTikTok
from tests.pulls.tiktok.test_tiktok import TIKTOK
from tests.support.fake_platform import FakePlatform

client: Any = pytest.importorskip(
    "business_api_client", reason="needs the package tiktok-business-api-sdk-official"
)


def _call(platform: FakePlatform) -> None:
    """Request the account and the last days of both levels with the official client."""
    configuration = client.Configuration()
    configuration.host = platform.url
    api = client.ApiClient(configuration)
    fields = ["name", "currency", "timezone"]
    client.AccountManagementApi(api).advertiser_info(["1234567890"], TOKEN, fields=fields)
    levels = {
        "ad": ["campaign_id", "campaign_name", "adgroup_id", "adgroup_name", "ad_name"],
        "campaign": ["campaign_name"],
    }
    for level, names in levels.items():
        client.ReportingApi(api).report_integrated_get(
            "BASIC",
            TOKEN,
            advertiser_id="1234567890",
            service_type="AUCTION",
            data_level=f"AUCTION_{level.upper()}",
            dimensions=[f"{level}_id", "stat_time_day"],
            metrics=["spend", "impressions", "clicks", *names],
            start_date=str(TODAY - timedelta(days=27)),
            end_date=str(TODAY),
            filtering=[
                {"field_name": f"{level}_status", "filter_type": "IN", "filter_value": '["STATUS_ALL"]'}
            ],
            page=1,
            page_size=1000,
        )


def test_the_requests_mean_the_same(pulls: Pulls) -> None:
    pretend = PretendTikTok(fill(Books(), TODAY, days=3))
    with (
        serve_platform(pulls, TIKTOK, pretend) as own_platform,
        FakePlatform(default=pretend) as client_platform,
    ):
        TIKTOK.connect(pulls)
        pulls.pull()
        _call(client_platform)
    assert [meaning(request, "access-token") for request in own_platform.requests[:3]] == [
        meaning(request, "access-token") for request in client_platform.requests
    ]
