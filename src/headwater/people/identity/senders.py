"""The sender of an item. A business's own systems are trusted; a page's items may be anybody's, as
its key is public, unless the business has signed them.
"""

from __future__ import annotations

from enum import StrEnum


class Sender(StrEnum):
    """The way by which an item came in."""

    API_KEY = "api_key"
    WEBHOOK = "webhook"
    IMPORT = "import"
    ASSISTANT = "assistant"
    BROWSER = "browser"
    SIGNED_BROWSER = "signed_browser"

    @property
    def is_trusted(self) -> bool:
        """True when the sender speaks for the business."""
        return self is not Sender.BROWSER


BUSINESS_RECORDS = frozenset({Sender.WEBHOOK, Sender.IMPORT})
"""Senders of what a business's own systems have recorded, such as a shop's orders."""
