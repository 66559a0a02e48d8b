"""The sender of an item. Items from pages are not trusted unless signed, because the site key is public."""

from __future__ import annotations

from enum import StrEnum


class Sender(StrEnum):
    API_KEY = "api_key"
    WEBHOOK = "webhook"
    IMPORT = "import"
    ASSISTANT = "assistant"
    BROWSER = "browser"
    SIGNED_BROWSER = "signed_browser"

    @property
    def is_trusted(self) -> bool:
        """True if the sender speaks for the business."""
        return self is not Sender.BROWSER


BUSINESS_RECORDS = frozenset({Sender.WEBHOOK, Sender.IMPORT})
"""Senders of records of a business's own systems, such as a shop's orders."""
