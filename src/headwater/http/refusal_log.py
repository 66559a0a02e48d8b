"""Logs of refused credentials, logins, forms and used-up limits: the first of each kind, Space, key and user
in a minute, and then how many more there were. So an attack is visible, and fills no disk.
"""

from __future__ import annotations

import hashlib
import secrets

import structlog

SECONDS = 60.0
MOST_KINDS = 100
"""Lines a minute; refusals of further kinds are counted together."""
_KEY = secrets.token_bytes(32)
"""Ends with the process, so that no line leads back to an address."""

log = structlog.get_logger()
_repeated: dict[tuple[tuple[str, str | int], ...], int] = {}
"""Refusals of this minute after the first, by what they have in common."""
_OTHER_LABELS = (("reason", "others"),)


def log_refusal(reason: str, address: str | None = None, /, **ids: str | int) -> None:
    """Log a refusal, or count it. `ids` are of a Space, key, user or limit, and without personal data."""
    kind = (("reason", reason), *sorted(ids.items()))
    if kind in _repeated:
        _repeated[kind] += 1
    elif len(_repeated) < MOST_KINDS:
        _repeated[kind] = 0
        client = {} if address is None else {"client": disguise(address)}
        log.warning("refused", reason=reason, **ids, **client)
    else:
        _repeated[_OTHER_LABELS] = _repeated.get(_OTHER_LABELS, 0) + 1


def log_repeated() -> None:
    """Log how often each refusal was repeated, and begin anew."""
    counts = list(_repeated.items())
    _repeated.clear()
    for kind, number in counts:
        if number:
            log.warning("refused_again", **dict(kind), count=number)


def disguise(text: str) -> str:
    """Return a short hash of an address, so that lines about the same address can be found."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4, key=_KEY).hexdigest()
