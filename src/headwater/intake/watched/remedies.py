"""What a member does about each fault of a watched file. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from headwater.intake.watched.faults import WatchFault

REMEDIES: Mapping[str, str] = {
    WatchFault.ADDRESS: "Correct the address.",
    WatchFault.CREDENTIALS: "Enter new secrets that give access to the file.",
    WatchFault.SETTINGS: "Add or change the setting that the message names.",
    WatchFault.MISSING: (
        "Check that the platform still writes its report to this address, and that the secrets give access to"
        " it."
    ),
    WatchFault.TOO_LARGE: "Shorten the report, for example to the last 30 days.",
    WatchFault.CONTENT: "Check that the address returns a CSV file and not a page, an archive or a workbook.",
    WatchFault.UNREACHABLE: (
        "Wait: fetches are repeated automatically. If they keep failing, check that Headwater can connect to"
        " the address."
    ),
}
