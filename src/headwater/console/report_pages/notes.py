"""List, add, change and delete notes."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from headwater.console.flash import FlashMessage
from headwater.console.report_pages.charts.chart_notes import (
    LONGEST,
    MOST_LISTED,
    MOST_NOTES,
    add_note,
    change_note,
    fetch_note,
    list_notes,
    read_authors,
    remove_note,
)
from headwater.console.report_pages.saved_views import is_address_query
from headwater.console.visits import PageVisit, Refusal, SentForm, SpacePages, list_form_errors
from headwater.http.errors import Errors, NotFound
from headwater.spaces.accounts.roles import Permission

ROUTES = SpacePages("/notes")
_FORM = SentForm("chart note", Permission.WRITE_DATA, changes=("chart_note",))
LAST_PAGE = -(-MOST_NOTES // MOST_LISTED)
_CHART_PAGES = {"overview": "", "channels": "/channels"}
"""The paths of pages with notes below their chart."""


@ROUTES.page()
async def show_notes(visit: PageVisit) -> Response:
    day = visit.request.query_params.get("day", "")
    return await _list_page(visit, {"day": day if _is_day(day) else _today(visit), "text": ""}, {})


async def _refuse_new(visit: PageVisit, refusal: Refusal) -> Response:
    return await _list_page(visit, visit.typed("day", "text"), list_form_errors(refusal))


@ROUTES.action("/add", _FORM, _refuse_new)
async def post_add(visit: PageVisit) -> Response:
    form = visit.form
    await add_note(visit.connection, visit.space.id, visit.user_id, form.text("day"), form.text("text"))
    page, query = _CHART_PAGES.get(form.text("of")), form.text("query")
    if page is None or not is_address_query(query):
        return visit.redirect("/notes", FlashMessage.NOTE_ADDED)
    return visit.redirect(f"{page}{'?' if query else ''}{query}#notes", FlashMessage.NOTE_ADDED)


@ROUTES.page("/{note_id}")
async def show_note(visit: PageVisit) -> Response:
    return await _note_page(visit, None, {})


async def _refuse_change(visit: PageVisit, refusal: Refusal) -> Response:
    return await _note_page(visit, visit.typed("day", "text"), list_form_errors(refusal))


@ROUTES.action("/{note_id}/change", _FORM, _refuse_change)
async def post_change(visit: PageVisit) -> FlashMessage | Response:
    """Offer to add the text as a new note if the note was deleted meanwhile."""
    connection, space_id, form = visit.connection, visit.space.id, visit.form
    try:
        note = await fetch_note(connection, space_id, visit.id("note_id"))
    except NotFound:
        errors: Errors = {
            "text": ["This note was deleted meanwhile. To keep your text, add it as a new note."]
        }
        return await _list_page(visit, visit.typed("day", "text"), errors)
    await change_note(connection, space_id, visit.user_id, note, form.text("day"), form.text("text"))
    return FlashMessage.NOTE_CHANGED


@ROUTES.action("/{note_id}/remove", _FORM)
async def post_remove(visit: PageVisit) -> FlashMessage:
    await remove_note(visit.connection, visit.space.id, visit.id("note_id"))
    return FlashMessage.NOTE_REMOVED


async def _list_page(visit: PageVisit, typed: dict[str, str], errors: Errors) -> Response:
    page = _read_page(visit.request)
    notes = await list_notes(visit.connection, visit.space.id, page)
    values = {
        "notes": notes[:MOST_LISTED],
        "page": page,
        "follows": len(notes) > MOST_LISTED and page < LAST_PAGE,
        "errors": errors,
        "typed": typed,
    }
    return visit.render("notes.html", values | await _common(visit), 422 if errors else 200)


async def _note_page(visit: PageVisit, typed: dict[str, str] | None, errors: Errors) -> Response:
    note = await fetch_note(visit.connection, visit.space.id, visit.id("note_id"))
    values = {
        "note": note,
        "errors": errors,
        "typed": typed or {"day": note.day.isoformat(), "text": note.text},
    }
    return visit.render("note.html", values | await _common(visit), 422 if errors else 200)


async def _common(visit: PageVisit) -> dict[str, Any]:
    return {
        "here": visit.path("/notes"),
        "longest": LONGEST,
        "most": MOST_NOTES,
        "authors": await read_authors(visit.connection, visit.space.id),
    }


def _today(visit: PageVisit) -> str:
    return datetime.now(UTC).astimezone(visit.space.zone).date().isoformat()


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _read_page(request: Request) -> int:
    """Return the first page for an impossible number."""
    text = request.query_params.get("page", "1")
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 4 else 1
    return min(max(number, 1), LAST_PAGE)
