"""The endpoints of contacts: parse, call, answer. Each owns its transaction."""

from __future__ import annotations

from fastapi import APIRouter

router = APIRouter(tags=["Contacts"])
