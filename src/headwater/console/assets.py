"""Style sheet, scripts and the Google Tag Manager template, under content-hashed names that browsers cache
forever.
"""

from __future__ import annotations

import hashlib
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

from headwater.http.errors import NotFound

PATH = "/console/static"
_TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml; charset=utf-8",
    "tpl": "text/plain; charset=utf-8",
}
_FOR_GOOD = {"Cache-Control": "public, max-age=31536000, immutable"}


def _load() -> tuple[dict[str, str], dict[str, bytes]]:
    addresses: dict[str, str] = {}
    contents: dict[str, bytes] = {}
    for entry in files("headwater.console").joinpath("static").iterdir():
        stem, _, kind = entry.name.rpartition(".")
        content = entry.read_bytes()
        hashed = f"{stem}.{hashlib.sha256(content).hexdigest()[:16]}.{kind}"
        addresses[entry.name] = f"{PATH}/{hashed}"
        contents[hashed] = content
    return addresses, contents


_ADDRESSES, _CONTENTS = _load()


def asset(name: str) -> str:
    return _ADDRESSES[name]


async def send_icon(_: Request) -> Response:
    """Send the icon that browsers request unprompted."""
    address = _ADDRESSES["favicon.svg"].rpartition("/")[2]
    headers = {"Content-Type": _TYPES["svg"], "Cache-Control": "public, max-age=86400"}
    return Response(_CONTENTS[address], headers=headers)


async def send_asset(request: Request) -> Response:
    name: str = request.path_params["name"]
    if name not in _CONTENTS:
        raise NotFound("Page")
    kind = _TYPES[name.rpartition(".")[2]]
    return Response(_CONTENTS[name], headers={"Content-Type": kind, **_FOR_GOOD})
