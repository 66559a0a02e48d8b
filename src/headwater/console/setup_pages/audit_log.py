"""The audit log of a Space: search and download."""

from __future__ import annotations

from datetime import date
from typing import Any, cast
from urllib.parse import urlencode

import msgspec
from starlette.responses import Response

from headwater.console.visits import PageVisit, SpacePages
from headwater.http.errors import Invalid
from headwater.http.inputs.path_parameters import parse_id
from headwater.http.inputs.timerange import parse_day, whole_days
from headwater.spaces.accounts.members import list_members
from headwater.spaces.accounts.roles import Permission
from headwater.spaces.audit.entries import AuditSearch, Way, encode_entry, list_entries, walk_entries
from headwater.spaces.audit.kinds import KINDS
from headwater.spaces.models import Space

ROUTES = SpacePages("/audit")
PER_PAGE = 50
MOST_IN_FILE = 100_000
FILTERS = ("first_day", "last_day", "way", "user", "kind", "subject")
WAYS = {Way.CONSOLE: "Console", Way.API: "API", Way.ASSISTANT: "Assistant", Way.COMMAND: "Command line"}


@ROUTES.page("", Permission.MANAGE_MEMBERS)
async def show_log(visit: PageVisit) -> Response:
    typed = _read_filters(visit)
    before = visit.request.query_params.get("before", "")
    errors: dict[str, list[str]] = {}
    search = AuditSearch()
    try:
        search = _read_search(typed, before, visit.space)
    except Invalid as error:
        errors = error.errors
    entries = [] if errors else await list_entries(visit.connection, visit.space.id, search, PER_PAGE + 1)
    page_entries = entries[:PER_PAGE]
    filters = {name: text for name, text in typed.items() if text}
    values: dict[str, Any] = {
        "entries": page_entries,
        "earlier": urlencode({**filters, "before": page_entries[-1].id}) if len(entries) > PER_PAGE else None,
        "latest": urlencode(filters) if before else None,
        "most_in_file": MOST_IN_FILE,
        "file": f"{visit.path('/audit.ndjson')}?{urlencode(filters)}",
        "here": visit.path("/audit"),
        "typed": typed,
        "is_filtered": bool(filters),
        "errors": errors,
        "ways": WAYS,
        "kinds": {kind: title_of(kind) for kind in KINDS},
        "title_of": title_of,
        "show": show_value,
        "members": await list_members(visit.connection, visit.space.id),
        "days": visit.services.settings.audit_days,
    }
    return visit.render("audit_log.html", values, 422 if errors else 200)


@ROUTES.page(".ndjson", Permission.MANAGE_MEMBERS)
async def send_file(visit: PageVisit) -> Response:
    """Send at most MOST_IN_FILE entries as JSON lines, newest first."""
    search = _read_search(_read_filters(visit), "", visit.space)
    lines: list[bytes] = []
    async for entry in walk_entries(visit.connection, visit.space.id, search):
        lines.append(encode_entry(entry) + b"\n")
        if len(lines) == MOST_IN_FILE:
            break
    headers = {"Content-Disposition": f'attachment; filename="audit-log-{visit.space.id}.ndjson"'}
    return Response(b"".join(lines), 200, headers, "application/x-ndjson")


def title_of(kind: str) -> str:
    """Return the name of a kind for people."""
    return kind.replace("_", " ").capitalize().replace("Api", "API")


def show_value(value: object) -> str:
    """Return a stored value as text, and a dash for none."""
    if value is None or value == []:
        return "\N{EN DASH}"
    if isinstance(value, list):
        return ", ".join(map(show_value, cast("list[object]", value)))
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _read_filters(visit: PageVisit) -> dict[str, str]:
    return {name: visit.request.query_params.get(name, "").strip() for name in FILTERS}


def _read_search(typed: dict[str, str], before: str, space: Space) -> AuditSearch:
    """Raise Invalid by filter."""
    first, last = _read_day(typed, "first_day"), _read_day(typed, "last_day")
    if typed["way"] and typed["way"] not in WAYS:
        raise Invalid.of("way", f"must be one of {', '.join(Way)}.")
    if typed["kind"] and typed["kind"] not in KINDS:
        raise Invalid.of("kind", "is not a kind of change in the log.")
    return AuditSearch(
        since=first and whole_days(first, first, space.zone).start,
        until=last and whole_days(last, last, space.zone).end,
        way=typed["way"] or None,
        user_id=parse_id("user", typed["user"]) if typed["user"] else None,
        kind=typed["kind"] or None,
        subject_id=typed["subject"] or None,
        before_id=parse_id("before", before) if before else None,
    )


def _read_day(typed: dict[str, str], name: str) -> date | None:
    """Raise Invalid."""
    try:
        return parse_day(typed[name]) if typed[name] else None
    except ValueError as error:
        raise Invalid.of(name, str(error)) from None
