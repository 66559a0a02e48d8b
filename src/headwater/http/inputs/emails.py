"""E-mail addresses: parsing, and their field types."""

from __future__ import annotations

import re
from functools import lru_cache

from headwater.http.inputs.fields import text_up_to, written

LONGEST_EMAIL = 320
"""Maximum characters; the standard's limit, because the library's time grows with them."""

MOST_DELIVERABLE = 254
"""Maximum characters of an address that accepts mail."""
EMAIL_RULE = "must be a valid e-mail address."

# The common form of an address; the library parses the rest.
_EMAIL = re.compile(
    r"[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
    r"@(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}"
)


def parse_written_email(text: str) -> str:
    """Return the address in a person's text, trimmed and in lower case. Raise ValueError."""
    return parse_email(text.strip().lower())


def parse_email(address: str) -> str:
    """Return a trimmed, lower-case address. Raise ValueError."""
    if len(address) <= MOST_DELIVERABLE and address.find("@") <= 64 and _EMAIL.fullmatch(address):
        return address
    if len(address) > LONGEST_EMAIL:
        raise ValueError(EMAIL_RULE)
    return _unusual_email(address)


@lru_cache(maxsize=1024)
def _unusual_email(address: str) -> str:
    """Parse international and quoted forms with the library."""
    # Its patterns would take 20 ms of the start of each process.
    from email_validator import EmailNotValidError, validate_email  # noqa: PLC0415

    try:
        validate_email(address, check_deliverability=False, allow_quoted_local=True, strict=True)
    except EmailNotValidError:
        raise ValueError(EMAIL_RULE) from None
    return address


WRITTEN_EMAIL = written({"type": "string", "format": "email"}, parse_written_email)
EMAIL = (
    text_up_to(MOST_DELIVERABLE, trim=True, rule=EMAIL_RULE)
    .then(parse_written_email)
    .documented(type="string", format="email", maxLength=MOST_DELIVERABLE)
)
"""Type of an address field in a body."""
