"""The tools, by what they are about."""

from __future__ import annotations

from headwater.mcp.tools import companies, contacts, events

TOOLS = (*events.TOOLS, *contacts.TOOLS, *companies.TOOLS)
