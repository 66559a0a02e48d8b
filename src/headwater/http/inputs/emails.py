"""E-mail addresses: parsing them, and the types of fields that hold one."""

from __future__ import annotations

import re
from functools import lru_cache

from email_validator import EmailNotValidError, validate_email

from headwater.http.inputs.fields import text_up_to, written

LONGEST_EMAIL = 320
"""Characters; the standard has no longer ones, and the library's time grows with them."""

MOST_DELIVERABLE = 254
"""Characters of an address that mail can be sent to."""
EMAIL_RULE = "must be a valid e-mail address."

# The common form of an address; anything else goes to the library.
_EMAIL = re.compile(
    r"[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
    r"@(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}"
)


def parse_written_email(text: str) -> str:
    """The address in a text that a person wrote, trimmed and lower-case. Raises ValueError."""
    return parse_email(text.strip().lower())


def parse_email(address: str) -> str:
    """A trimmed, lower-case address, if it is one. Raises ValueError."""
    if len(address) <= MOST_DELIVERABLE and address.find("@") <= 64 and _EMAIL.fullmatch(address):
        return address
    if len(address) > LONGEST_EMAIL:
        raise ValueError(EMAIL_RULE)
    return _unusual_email(address)


@lru_cache(maxsize=1024)
def _unusual_email(address: str) -> str:
    """International and quoted forms, which need more than a pattern; checked by the library."""
    try:
        validate_email(address, check_deliverability=False, allow_quoted_local=True, strict=True)
    except EmailNotValidError:
        raise ValueError(EMAIL_RULE) from None
    return address


WRITTEN_EMAIL = written({"type": "string", "format": "email"}, parse_written_email)
"""The type of a parameter with an address."""
EMAIL = (
    text_up_to(MOST_DELIVERABLE, trim=True, rule=EMAIL_RULE)
    .then(parse_written_email)
    .documented(type="string", format="email", maxLength=MOST_DELIVERABLE)
)
"""The type of a body's field with an address."""
