"""Self-reported sources next to clicks, and the phrases that map answers to sources."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial

from msgspec import Struct
from psycopg import AsyncConnection
from starlette.requests import Request
from starlette.responses import Response

from headwater.console.flash import FlashMessage
from headwater.console.link_pages.source_changes import assign_source
from headwater.console.report_pages.bar import read_bar
from headwater.console.report_pages.basis import MADE_OF, Basis, choose_basis, title_columns
from headwater.console.report_pages.report_page import ReportPage, open_page
from headwater.console.report_pages.view import ReportView
from headwater.console.visits import PageVisit, Refusal, SentForm, SpacePages, list_form_errors
from headwater.database.queries import Queries, fetch_all
from headwater.http.errors import Errors, Invalid
from headwater.reports.engine.report import ReportResult, ReportRow, query_reports
from headwater.reports.query import FigureColumn, Group, Measure
from headwater.sources.answers import SELF_REPORTED
from headwater.sources.titles import format_title
from headwater.spaces.accounts.roles import Permission
from headwater.spaces.models import Space
from headwater.spaces.settings_input import ANSWER_PHRASE

queries = Queries(__name__, "self_reported.sql")

ROUTES = SpacePages("/self-reported")
_FORM = SentForm("self-reported", Permission.CHANGE_SETTINGS, changes=("answer_phrase",))
MOST_CLICKED = 3
MOST_ROWS = 1_000
LOOKED_AT = 5_000
"""Latest answers searched for unmatched ones."""
MOST_UNREAD = 20
_NOT_HERE = frozenset({"compare"})


class SelfReportedRow(Struct, frozen=True):
    """A self-reported source, and the clicked sources with the most credit for its conversions."""

    key: str | None
    row: ReportRow
    only: tuple[str, ...]
    clicked: list[tuple[str, ReportRow]]

    @property
    def title(self) -> str:
        return format_title(self.key) if self.key else "Not asked, or no answer"


class SelfReportedContent(Struct, frozen=True):
    basis: Basis
    report: ReportResult
    rows: list[SelfReportedRow]
    unread: list[tuple[str, int]]
    """The most frequent unmatched answers with their counts."""


def _measures(basis: Basis) -> tuple[Measure, ...]:
    return tuple(dict.fromkeys((basis.whole, Measure.SHARE, basis.counted, Measure.CONTACTS)))


async def _load(connection: AsyncConnection, space: Space, view: ReportView) -> SelfReportedContent:
    """Load one snapshot. Raise Invalid and ReportTooLarge."""
    basis, current_time = choose_basis(view), datetime.now(UTC)
    by_answer, by_source = await query_reports(
        connection,
        space.id,
        [
            view.report(
                space,
                current_time,
                _measures(basis),
                (Group.SELF_REPORTED_SOURCE,),
                compare="none",
                limit=str(MOST_ROWS),
            ),
            view.report(
                space,
                current_time,
                (basis.credited,),
                (Group.SELF_REPORTED_SOURCE, Group.SOURCE),
                compare="none",
                limit=str(MOST_ROWS),
            ),
        ],
    )
    clicked: dict[str | None, list[tuple[str, ReportRow]]] = {}
    for row in by_source.rows:
        answer, source = row.keys
        clicked.setdefault(answer.value, []).append((source.value or "", row))
    rows = [
        SelfReportedRow(
            key,
            row,
            view.narrow(f"{Group.SELF_REPORTED_SOURCE}:{key or ''}").only,
            clicked.get(key, [])[:MOST_CLICKED],
        )
        for row in by_answer.rows
        for key in (row.keys[0].value,)
    ]
    limits = {"looked_at": LOOKED_AT, "most": MOST_UNREAD}
    unread_answers = await fetch_all(connection, queries["unread"], {"space_id": space.id, **limits})
    return SelfReportedContent(basis, by_answer, rows, unread_answers)


async def show_self_reported(request: Request) -> Response:
    return await _render(await open_page(request), {}, {})


async def _render(page: ReportPage, errors: Errors, typed: dict[str, str]) -> Response:
    view = page.view
    content, problem = await page.try_load(partial(_load, space=page.space, view=view))
    basis = choose_basis(view)
    path = f"{page.base}/self-reported"
    return page.render(
        "self_reported.html",
        read_bar(page.space, view, path, absent_choices=_NOT_HERE),
        problem,
        page=content,
        page_path=path,
        errors=errors,
        typed={"phrase": "", "source": ""} | typed,
        phrases=sorted(page.space.answer_phrases.items()),
        format_title=format_title,
        column=FigureColumn,
        events=basis.counted,
        made_of=MADE_OF,
        titles=title_columns(page.space, view),
        contacts=Measure.CONTACTS,
        share=Measure.SHARE,
        choices=sorted((format_title(key), key) for key in SELF_REPORTED),
        csv=view.csv_link(
            f"{page.base}/report.csv",
            _measures(basis),
            (Group.SELF_REPORTED_SOURCE,),
            compare="none",
            limit=MOST_ROWS,
        ),
    )


ROUTES.add("", show_self_reported)


async def _refuse(visit: PageVisit, refusal: Refusal) -> Response:
    return await _render(
        await open_page(visit.request), list_form_errors(refusal), visit.typed("phrase", "source")
    )


@ROUTES.action("/add", _FORM, _refuse)
async def post_add(visit: PageVisit) -> FlashMessage:
    phrase, source = visit.form.text("phrase").strip(), visit.form.text("source")
    errors: Errors = {}
    if not phrase:
        errors["phrase"] = ["Enter words from the answers."]
    if not source:
        errors["source"] = ["Choose a source for the words."]
    if errors:
        raise Invalid(errors)
    await assign_source(visit, ANSWER_PHRASE, phrase, source, "phrase")
    return FlashMessage.PHRASE_ADDED


@ROUTES.action("/remove", _FORM, _refuse)
async def post_remove(visit: PageVisit) -> FlashMessage:
    await assign_source(visit, ANSWER_PHRASE, visit.form.text("phrase"), "", "phrase")
    return FlashMessage.PHRASE_REMOVED
