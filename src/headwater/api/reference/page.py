"""/docs: the API reference, a page for each subject, rendered by the server from the OpenAPI document.

It and its search work without JavaScript and offline; a script adds buttons that send the examples.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from headwater import __version__
from headwater.api.reference.commands import pretty
from headwater.api.reference.description import SHORT_ENUM, TAG_DESCRIPTIONS, ReferenceEntry, describe, search
from headwater.api.reference.examples import ERRORS
from headwater.api.reference.introduction import FIRST_CALLS
from headwater.http.compression import COMPRESSED
from headwater.http.errors import make_problem
from headwater.http.openapi import PROBLEMS

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_MAX_SEARCH = 100
_PAGE_HEADERS = {"Content-Security-Policy": _POLICY, "Referrer-Policy": "no-referrer"}
_ASSETS = {"reference.css": "text/css", "reference.js": "text/javascript"}
_TEMPLATES = Environment(
    loader=PackageLoader("headwater.api.reference"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    auto_reload=False,  # an upgrade replaces the files under a running process
)


class _Pages:
    """The pages, rendered when first requested."""

    def __init__(self, brand: str, base_url: str, document: Callable[[], dict[str, Any]]) -> None:
        self._brand, self._base_url, self._document = brand, base_url, document

    @cached_property
    def _subjects(self) -> dict[str, list[ReferenceEntry]]:
        return describe(self._document())

    @cached_property
    def _introduction(self) -> str:
        errors = [(status, meaning, pretty(ERRORS[status])) for status, (_, meaning) in PROBLEMS.items()]
        return self._render("introduction.html", first_calls=FIRST_CALLS, errors=errors)

    @cached_property
    def _subject_pages(self) -> dict[str, str]:
        return {
            subject.lower(): self._render("subject.html", subject=subject, short=SHORT_ENUM)
            for subject in self._subjects
        }

    async def show(self, request: Request) -> Response:
        search_text = request.query_params.get("q", "")[:_MAX_SEARCH].strip()
        if not search_text:
            return _answer(self._introduction)
        matches = search(self._subjects, search_text)
        return _answer(self._render("search.html", wanted=search_text, found=matches))

    async def show_subject(self, request: Request) -> Response:
        page = self._subject_pages.get(request.path_params["subject"])
        if page is None:
            raise make_problem(404)
        return _answer(page)

    def _render(self, template: str, **values: object) -> str:
        return _TEMPLATES.get_template(template).render(
            brand=self._brand,
            base_url=self._base_url,
            info=self._document()["info"],
            about=TAG_DESCRIPTIONS,
            product_version=__version__,
            subjects=self._subjects,
            max_search=_MAX_SEARCH,
            **{"subject": "", "wanted": ""} | values,
        )


def reference_routes(brand: str, base_url: str, document: Callable[[], dict[str, Any]]) -> list[Route]:
    pages = _Pages(brand, base_url, document)
    return [
        Route("/docs", pages.show, middleware=COMPRESSED),
        *(_asset_route(name, media_type) for name, media_type in _ASSETS.items()),
        Route("/docs/{subject}", pages.show_subject, middleware=COMPRESSED),
    ]


def _asset_route(name: str, media_type: str) -> Route:
    content = files("headwater.api.reference").joinpath("static", name).read_bytes()

    async def send(_: object) -> Response:
        headers = {"Cache-Control": "public, max-age=3600"}
        return Response(content, media_type=media_type, headers=headers)

    return Route(f"/docs/{name}", send, middleware=COMPRESSED)


def _answer(page: str) -> Response:
    return HTMLResponse(page, headers=_PAGE_HEADERS)
