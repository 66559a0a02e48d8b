"""What the owner of a connection does about each kind of fault. Pure."""

from __future__ import annotations

from headwater.http.inputs.account_kinds import find_title
from headwater.spend.platforms import registry
from headwater.spend.platforms.platform import FaultCause

_REMEDIES = {
    FaultCause.TOKEN: "Get a new token from {title} and replace the stored one.",
    FaultCause.PERMISSION: "Give the token's user access to the ad account in {title}, then resume.",
    FaultCause.ACCOUNT: "Check the account in the settings, and in {title} whether it is active.",
    FaultCause.VERSION: "Set a newer version of {title}'s API in the settings, or update Headwater.",
    FaultCause.REFUSED: "Check the settings. If they are right, search {title}'s help for this message.",
    FaultCause.THROTTLED: "Wait until {title} accepts requests again; pulls are repeated automatically.",
    FaultCause.TEMPORARY: (
        "Wait a few minutes; pulls are repeated automatically. If {title} still doesn't answer, check that"
        " this server can connect to it."
    ),
    FaultCause.TOO_LARGE: "Import this account's spend from files: a single day is too large for {title}.",
}


def find_remedy(platform: str, fault: str | None) -> str | None:
    """Return what to do about a fault of a platform, in a sentence; None without one."""
    if fault is None:
        return None
    return _REMEDIES[FaultCause(fault)].format(title=find_title(registry.PLATFORMS, platform))
