"""/docs: the API reference on one page, rendered by the server from the OpenAPI document.

It works without JavaScript and offline; a script adds buttons that send the examples.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from headwater import __version__
from headwater.api.reference.commands import pretty
from headwater.api.reference.description import ABOUT, SHORT_ENUM, describe
from headwater.api.reference.examples import ERRORS
from headwater.api.reference.introduction import FIRST_CALLS
from headwater.http.compression import COMPRESSED
from headwater.http.openapi import PROBLEMS

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
)
_NO_SNIFFING = {"X-Content-Type-Options": "nosniff"}
_PAGE_HEADERS = {"Content-Security-Policy": _POLICY, "Referrer-Policy": "no-referrer"}
_ASSETS = {"reference.css": "text/css", "reference.js": "text/javascript"}
_TEMPLATES = Environment(
    loader=PackageLoader("headwater.api.reference"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def reference_routes(brand: str, base_url: str, document: Callable[[], dict[str, Any]]) -> list[Route]:

    @cache
    def page() -> str:
        errors = [(status, meaning, pretty(ERRORS[status])) for status, (_, meaning) in PROBLEMS.items()]
        return _TEMPLATES.get_template("reference.html").render(
            brand=brand,
            base_url=base_url,
            info=document()["info"],
            about=ABOUT,
            product_version=__version__,
            subjects=describe(document()),
            short=SHORT_ENUM,
            first_calls=FIRST_CALLS,
            errors=errors,
        )

    async def show(_: object) -> Response:
        return HTMLResponse(page(), headers=_PAGE_HEADERS | _NO_SNIFFING)

    def asset(name: str, media_type: str) -> Route:
        content = files("headwater.api.reference").joinpath("static", name).read_bytes()

        async def send(_: object) -> Response:
            headers = {"Cache-Control": "public, max-age=3600", **_NO_SNIFFING}
            return Response(content, media_type=media_type, headers=headers)

        return Route(f"/docs/{name}", send, middleware=COMPRESSED)

    return [
        Route("/docs", show, middleware=COMPRESSED),
        *(asset(name, media_type) for name, media_type in _ASSETS.items()),
    ]
