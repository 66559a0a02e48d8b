"""Spend in the ledger on a platform that the Space has no source for: it was stored while the Space
had a network of its own for the platform, and the network was removed afterwards.
"""

from __future__ import annotations

from typing import Any

import httpx

from headwater.sources.ad_platforms import LISTED_PLATFORMS


def put_spend(client: httpx.Client, rows: list[dict[str, Any]]) -> httpx.Response:
    """Put rows into the ledger; networks for platforms that are not listed exist only meanwhile."""
    names = {row["platform"] for row in rows} - LISTED_PLATFORMS.keys()
    for name in sorted(names):
        client.put("/sources/networks", json={"name": f"{name}_ads"}).raise_for_status()
    response = client.put("/spend", json={"spend": rows})
    for name in sorted(names):
        client.delete(f"/sources/networks/{name}_ads").raise_for_status()
    return response
