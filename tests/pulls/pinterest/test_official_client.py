"""Our requests mean the same as requests of Pinterest's official Python client."""

from __future__ import annotations

from datetime import timedelta
from importlib import import_module
from typing import Any
from urllib.parse import parse_qs

import pytest

from tests.pulls.books import Books, fill
from tests.pulls.checks import serve_platform
from tests.pulls.meaning import meaning
from tests.pulls.pinterest.pretend import PretendPinterest
from tests.pulls.pinterest.test_pinterest import PINTEREST
from tests.pulls.staging import TODAY, Pulls
from tests.pulls.tokens import CLIENT
from tests.support.fake_platform import FakePlatform

ACCOUNT = "1234567890"
STATUSES = ["ACTIVE", "PAUSED", "ARCHIVED"]
client: Any = pytest.importorskip(
    "openapi_generated.pinterest_client", reason="needs the package pinterest-api-sdk"
)


def _call(platform: FakePlatform) -> None:
    """Request a token, the account, and the last days of both levels with the official client."""
    host, loose = f"{platform.url}/v5", {"_check_return_type": False}
    refresh = import_module("pinterest.utils.refresh_access_token").get_new_access_token
    token = refresh(CLIENT["client_id"], CLIENT["client_secret"], "refresh-0", host)
    api = client.ApiClient(client.Configuration(host=host, access_token=token))
    _api("ad_accounts", api).ad_accounts_get(ACCOUNT, **loose)
    granularity = import_module("openapi_generated.pinterest_client.model.granularity").Granularity("DAY")
    columns = ["SPEND_IN_MICRO_DOLLAR", "PAID_IMPRESSION", "TOTAL_CLICKTHROUGH"]
    days = TODAY - timedelta(days=27), TODAY
    for level, ids in {"ad": ["1111", "1121", "1211"], "campaign": ["11", "12", "13"]}.items():
        lists = _api(f"{level}s", api)
        getattr(lists, f"{level}s_list")(ACCOUNT, entity_statuses=STATUSES, page_size=250, **loose)
        method = getattr(lists, f"{level}s_analytics")
        if level == "ad":
            method(ACCOUNT, *days, columns, granularity, ad_ids=ids, **loose)
        else:
            method(ACCOUNT, *days, ids, columns, granularity, **loose)


def _api(name: str, api: Any) -> Any:
    module = import_module(f"openapi_generated.pinterest_client.api.{name}_api")
    return getattr(module, f"{name.title().replace('_', '')}Api")(api)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_requests_mean_the_same(pulls: Pulls) -> None:
    books = fill(Books(), TODAY, days=3)
    with (
        serve_platform(pulls, PINTEREST, PretendPinterest(books)) as own_platform,
        FakePlatform(default=PretendPinterest(books)) as client_platform,
    ):
        PINTEREST.connect(pulls)
        pulls.pull()
        _call(client_platform)
    assert [meaning(request, "authorization") for request in own_platform.requests[:6]] == [
        meaning(request, "authorization") for request in client_platform.requests
    ]
    assert parse_qs(own_platform.requests[0].body) == parse_qs(client_platform.requests[0].body)
