"""Google's own library accepts our queries, and reads their answers like our code.

Its transport is gRPC, so messages are compared instead of requests.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from tests.pulls.books import Books, fill
from tests.pulls.checks import serve_platform
from tests.pulls.google.pretend import PretendGoogle
from tests.pulls.google.test_google import GOOGLE
from tests.pulls.staging import TODAY, Pulls

pytest.importorskip("google.ads.googleads", reason="needs the package google-ads")


def test_rows_and_requests_mean_the_same(pulls: Pulls) -> None:
    json_format: Any = import_module("google.protobuf.json_format")
    service: Any = import_module("google.ads.googleads.v26.services.types.google_ads_service")
    pretend = PretendGoogle(fill(Books(), TODAY, days=3))
    with serve_platform(pulls, GOOGLE, pretend) as platform:
        GOOGLE.connect(pulls)
        pulls.pull()
    costs: dict[tuple[str, str, str], int] = {}
    for search_call in [request for request in platform.requests if request.target != "/token"]:
        fields = {"customerId": search_call.target.split("/")[3], **search_call.json()}
        request = service.SearchGoogleAdsRequest.pb()()
        json_format.ParseDict(fields, request)
        assert (request.customer_id, request.query) == (pretend.books.account, search_call.json()["query"])
        for item in pretend.rows(request.query):
            row = service.GoogleAdsRow.pb()()
            json_format.ParseDict(item, row)
            key = row.segments.date, str(row.campaign.id), str(row.ad_group_ad.ad.id or "")
            costs[key] = row.metrics.cost_micros
    stored_costs = {(str(row[0]), row[3], row[5]): int(row[7] * 1_000_000) for row in pulls.rows()}
    assert stored_costs == {key: micros for key, micros in costs.items() if key[0]}
