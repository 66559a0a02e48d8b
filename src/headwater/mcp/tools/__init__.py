"""The tools, by subject."""

from __future__ import annotations

from headwater.mcp.tools import attribution, companies, contacts, events, quality, reports, space

TOOLS = (
    *space.TOOLS, *reports.TOOLS, *events.TOOLS, *attribution.TOOLS, *contacts.TOOLS,
    *companies.TOOLS, *quality.TOOLS,
)  # fmt: skip
