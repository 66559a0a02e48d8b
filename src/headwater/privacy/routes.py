"""The endpoints that erase a person: parse, call, answer."""

from __future__ import annotations

from fastapi import APIRouter

router = APIRouter(tags=["Contacts"])
