"""Spend on a platform without a source in the Space: it was stored while the Space had its own network for
the platform, and the network was removed later.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import httpx

from headwater.sources.ad_platforms import LISTED_PLATFORMS
from tests.support.reading_fixtures import Api


def put_spend(client: httpx.Client | Api, rows: Sequence[dict[str, Any]], **fields: Any) -> httpx.Response:
    """Store spend rows. Networks for unlisted platforms exist only during the request."""
    send = client.send if isinstance(client, Api) else client.request
    names = {row["platform"] for row in rows} - LISTED_PLATFORMS.keys()
    for name in sorted(names):
        send("PUT", "/sources/networks", json={"name": f"{name}_ads"}).raise_for_status()
    response = send("PUT", "/spend", json={"spend": rows, **fields})
    for name in sorted(names):
        send("DELETE", f"/sources/networks/{name}_ads").raise_for_status()
    return response
