"""The script editors of ad platforms, and the script for each. A script sends spend with a key, and needs no
API access.
"""

from __future__ import annotations

from importlib.resources import files
from typing import NamedTuple

_FOLDER = "headwater.spend.scripts"
_SENDING = "sending.js"
"""The end of each script."""


class AdScript(NamedTuple):
    title: str
    file: str
    steps: tuple[str, ...]


SCRIPTS = {
    "google": AdScript(
        "Google Ads",
        "google.js",
        (
            "In Google Ads, open Tools, Bulk actions, Scripts, and choose + New script.",
            "Delete what is there, paste the script below, and save it as “Headwater spend”.",
            "Choose Authorize, allow access, then Run. The log says how many rows are sent.",
            "In the list of scripts, set the frequency to Hourly.",
        ),
    ),
    "microsoft": AdScript(
        "Microsoft Advertising",
        "microsoft.js",
        (
            "In Microsoft Advertising, open Tools, Bulk operations, Scripts, and choose Create script.",
            "Delete what is there, paste the script below, and save it as “Headwater spend”.",
            "Authorize it and choose Run now. The log says how many rows are sent.",
            "In the list of scripts, set the frequency to Daily.",
        ),
    ),
}


def write_script(script: AdScript, base_url: str, key: str) -> str:
    """Return a script that sends spend to the service at `base_url` with an API key."""
    text = "\n".join(files(_FOLDER).joinpath(name).read_text("utf-8") for name in (script.file, _SENDING))
    return text.replace("{address}", f"{base_url}/public-api/v1/spend").replace("{key}", key)
