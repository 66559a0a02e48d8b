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

_BROWSERS_ALONE = frozenset({"hit", "identify", "bots"})


def sender_of(stored: str | None, kind: str) -> Sender:
    """The sender of a row of the inbox. Rows accepted before senders were stored have none:
    then kinds that only browsers send are a browser's, and the rest is the business's.
    """
    if stored is not None:
        return Sender(stored)
    return Sender.BROWSER if kind in _BROWSERS_ALONE else Sender.API_KEY
