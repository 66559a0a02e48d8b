"""The notes of a Space: listed, added, changed and deleted by forms."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

from psycopg import AsyncConnection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.flash import FlashMessage
from headwater.console.forms import PostedForm, read_form
from headwater.console.pages import redirect, render
from headwater.console.report_pages.charts.chart_notes import (
    LISTED,
    LONGEST,
    MOST,
    ChartNote,
    add_note,
    change_note,
    fetch_note,
    list_notes,
    read_authors,
    remove_note,
)
from headwater.console.report_pages.saved_views import is_address_query
from headwater.console.visitor import HOME, SpaceVisitor, enter, require_visitor
from headwater.endpoints.services import services
from headwater.http.errors import Errors, Invalid, NotFound
from headwater.http.inputs.path_parameters import parse_id
from headwater.spaces.accounts.roles import Permission

FORM = "chart note"
LAST_PAGE = -(-MOST // LISTED)


async def show_notes(request: Request) -> Response:
    """Show a page of the notes, and the form for another."""
    visitor = await require_visitor(request)
    async with services(request).database.connection() as connection:
        inside = await enter(connection, request, visitor)
        return await _list(connection, request, inside)


async def post_add(request: Request) -> Response:
    """Add a note, and lead back to the chart that the form is on."""
    visitor = await require_visitor(request)
    form = await read_form(request, visitor.form_key, FORM)
    async with services(request).database.transaction() as connection:
        inside = await enter(connection, request, visitor, Permission.WRITE_DATA)
        day, text = form.text("day"), form.text("text")
        try:
            await add_note(connection, inside.space.id, visitor.user.id, day, text)
        except Invalid as error:
            typed = {"day": day, "text": text}
            return await _list(connection, request, inside, typed=typed, errors=error.errors)
    return redirect(request, _back(inside, form), FlashMessage.NOTE_ADDED)


async def show_note(request: Request) -> Response:
    """Show a note with the forms that change and delete it."""
    visitor = await require_visitor(request)
    async with services(request).database.connection() as connection:
        inside = await enter(connection, request, visitor)
        note = await fetch_note(connection, inside.space.id, _read_note_id(request))
        return await _one(connection, request, inside, note)


async def post_change(request: Request) -> Response:
    """Change a note."""
    visitor = await require_visitor(request)
    form = await read_form(request, visitor.form_key, FORM)
    async with services(request).database.transaction() as connection:
        inside = await enter(connection, request, visitor, Permission.WRITE_DATA)
        space_id = inside.space.id
        note = await fetch_note(connection, space_id, _read_note_id(request))
        day, text = form.text("day"), form.text("text")
        try:
            await change_note(connection, space_id, visitor.user.id, note, day, text)
        except Invalid as error:
            typed = {"day": day, "text": text}
            return await _one(connection, request, inside, note, typed=typed, errors=error.errors)
    return redirect(request, _path(inside), FlashMessage.NOTE_CHANGED)


async def post_remove(request: Request) -> Response:
    """Delete a note."""
    visitor = await require_visitor(request)
    await read_form(request, visitor.form_key, FORM)
    async with services(request).database.transaction() as connection:
        inside = await enter(connection, request, visitor, Permission.WRITE_DATA)
        await remove_note(connection, inside.space.id, _read_note_id(request))
    return redirect(request, _path(inside), FlashMessage.NOTE_REMOVED)


async def _list(
    connection: AsyncConnection,
    request: Request,
    inside: SpaceVisitor,
    *,
    typed: dict[str, str] | None = None,
    errors: Errors | None = None,
) -> Response:
    page = _read_page(request)
    notes = await list_notes(connection, inside.space.id, page)
    day = request.query_params.get("day", "")
    return render(
        request,
        "notes.html",
        status=422 if errors else 200,
        notes=notes[:LISTED],
        page=page,
        follows=len(notes) > LISTED and page < LAST_PAGE,
        errors=errors or {},
        typed=typed or {"day": day if _is_day(day) else _today(inside), "text": ""},
        **await _common(connection, inside),
    )


async def _one(
    connection: AsyncConnection,
    request: Request,
    inside: SpaceVisitor,
    note: ChartNote,
    *,
    typed: dict[str, str] | None = None,
    errors: Errors | None = None,
) -> Response:
    return render(
        request,
        "note.html",
        status=422 if errors else 200,
        note=note,
        errors=errors or {},
        typed=typed or {"day": note.day.isoformat(), "text": note.text},
        **await _common(connection, inside),
    )


async def _common(connection: AsyncConnection, inside: SpaceVisitor) -> dict[str, Any]:
    base = f"{HOME}/spaces/{inside.space.id}"
    return {
        "base": base,
        "here": _path(inside),
        "longest": LONGEST,
        "most": MOST,
        "authors": await read_authors(connection, inside.space.id),
    }


def _back(inside: SpaceVisitor, form: PostedForm) -> str:
    """Return the address of the chart that the form was on, or of the list."""
    query = form.text("query")
    if form.text("of") != "chart" or not is_address_query(query):
        return _path(inside)
    base = f"{HOME}/spaces/{inside.space.id}"
    return f"{base}?{query}#notes" if query else f"{base}#notes"


def _path(inside: SpaceVisitor) -> str:
    return f"{HOME}/spaces/{inside.space.id}/notes"


def _today(inside: SpaceVisitor) -> str:
    return datetime.now(UTC).astimezone(inside.space.zone).date().isoformat()


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _read_page(request: Request) -> int:
    """Return the number of the page of the list; the first for one that there cannot be."""
    text = request.query_params.get("page", "1")
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 4 else 1
    return min(max(number, 1), LAST_PAGE)


def _read_note_id(request: Request) -> int:
    try:
        return parse_id("note", request.path_params["note_id"])
    except Invalid:
        raise NotFound("Page") from None


_PATH = f"{HOME}/spaces/{{space_id}}/notes"
ROUTES = [
    Route(_PATH, show_notes, methods=["GET"]),
    Route(f"{_PATH}/add", post_add, methods=["POST"]),
    Route(f"{_PATH}/{{note_id}}", show_note, methods=["GET"]),
    Route(f"{_PATH}/{{note_id}}/change", post_change, methods=["POST"]),
    Route(f"{_PATH}/{{note_id}}/remove", post_remove, methods=["POST"]),
]
