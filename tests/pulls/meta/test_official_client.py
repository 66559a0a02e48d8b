"""Our requests mean the same as requests of Meta's official Python client. Only ours keep the token out of
the URL.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from importlib import import_module
from typing import Any

import pytest

from tests.pulls.books import Books, fill
from tests.pulls.meaning import meaning
from tests.pulls.meta.pretend import TOKEN, PretendMeta
from tests.pulls.meta.test_meta import SECRETS, SETTINGS
from tests.pulls.staging import TODAY, Pulls
from tests.support.fake_platform import Answer, FakePlatform
from tests.support.wire import ReceivedRequest

client: Any = pytest.importorskip("facebook_business.api", reason="needs the package facebook-business")

FIGURES = ["date_start", "impressions", "clicks", "spend", "actions", "action_values"]
NAMES = {
    "ad": ["campaign_id", "campaign_name", "adset_id", "adset_name", "ad_id", "ad_name"],
    "campaign": ["campaign_id", "campaign_name"],
}


def _call(platform: FakePlatform) -> None:
    """Request the account and the last days of both levels with the official client."""
    session = import_module("facebook_business.session").FacebookSession(access_token=TOKEN)
    session.GRAPH = platform.url
    account = import_module("facebook_business.adobjects.adaccount").AdAccount(
        "act_1234567890", api=client.FacebookAdsApi(session)
    )
    account.api_get(fields=["currency", "timezone_name", "name", "account_status"])
    days = {"since": str(TODAY - timedelta(days=27)), "until": str(TODAY)}
    for level, names in NAMES.items():
        states = vars(import_module(f"facebook_business.adobjects.{level}"))[level.title()].EffectiveStatus
        values = sorted(value for name, value in vars(states).items() if not name.startswith("_"))
        condition = {"field": f"{level}.effective_status", "operator": "IN", "value": values}
        parameters = {
            "level": level,
            "time_increment": 1,
            "time_range": days,
            "filtering": [condition],
            "limit": 500,
        }
        account.get_insights(fields=[*names, *FIGURES], params=parameters)


def _meaning(request: ReceivedRequest) -> tuple[str, str, dict[str, Any]]:
    method, path, query, _ = meaning(request)
    query.pop("access_token", None)
    query["time_range"] = [text.replace(" ", "") for text in query.get("time_range", [])]
    return method, path.rstrip("/"), query


def test_the_requests_mean_the_same(pulls: Pulls) -> None:
    pretend = PretendMeta(fill(Books(), TODAY, days=3))

    def answer(request: ReceivedRequest) -> Answer:
        assert f"access_token={TOKEN}" in request.target
        target = request.target.replace("/?", "?")  # the client adds a slash to some paths
        return pretend(replace(request, target=target, headers={"authorization": f"Bearer {TOKEN}"}))

    with FakePlatform(default=pretend) as own_platform, FakePlatform(default=answer) as client_platform:
        pulls.urls["meta"] = own_platform.url
        pulls.connect("meta", SETTINGS, SECRETS)
        pulls.pull()
        _call(client_platform)
    assert [_meaning(request) for request in own_platform.requests[:3]] == list(
        map(_meaning, client_platform.requests)
    )
