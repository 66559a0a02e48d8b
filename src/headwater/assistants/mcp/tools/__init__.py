"""The tools, by subject."""

from __future__ import annotations

from headwater.assistants.mcp.tools import (
    attribution,
    companies,
    contacts,
    events,
    orders,
    quality,
    reports,
    space,
    spend,
)

TOOLS = (
    *space.TOOLS,
    *reports.TOOLS,
    *events.TOOLS,
    *orders.TOOLS,
    *attribution.TOOLS,
    *contacts.TOOLS,
    *companies.TOOLS,
    *spend.TOOLS,
    *quality.TOOLS,
)
