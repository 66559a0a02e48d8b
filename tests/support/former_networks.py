"""Spend in the ledger on a platform that the Space has no source for: it was stored while the Space
had a network of its own for the platform, and the network was removed afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import httpx

from headwater.sources.ad_platforms import LISTED_PLATFORMS
from tests.support.reading_fixtures import Api


def put_spend(client: httpx.Client | Api, rows: Sequence[dict[str, Any]], **also: Any) -> httpx.Response:
    """Put rows into the ledger; networks for platforms that are not listed exist only meanwhile."""
    send = client.send if isinstance(client, Api) else client.request
    names = {row["platform"] for row in rows} - LISTED_PLATFORMS.keys()
    for name in sorted(names):
        send("PUT", "/sources/networks", json={"name": f"{name}_ads"}).raise_for_status()
    response = send("PUT", "/spend", json={"spend": rows, **also})
    for name in sorted(names):
        send("DELETE", f"/sources/networks/{name}_ads").raise_for_status()
    return response
