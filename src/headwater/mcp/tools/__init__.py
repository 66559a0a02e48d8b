"""The tools, by what they are about."""

from __future__ import annotations

from headwater.mcp.tools import attribution, companies, contacts, events, space

TOOLS = (
    *space.TOOLS, *attribution.TOOLS, *events.TOOLS, *contacts.TOOLS, *companies.TOOLS,
)  # fmt: skip
