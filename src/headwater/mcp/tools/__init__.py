"""The tools, by subject."""

from __future__ import annotations

from headwater.mcp.tools import (
    attribution,
    companies,
    contacts,
    events,
    quality,
    reports,
    space,
    spend,
)

TOOLS = (
    *space.TOOLS, *reports.TOOLS, *events.TOOLS, *attribution.TOOLS, *contacts.TOOLS,
    *companies.TOOLS, *spend.TOOLS, *quality.TOOLS,
)  # fmt: skip
