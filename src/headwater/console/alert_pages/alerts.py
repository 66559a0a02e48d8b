"""The page of alerts: open ones, their history, the rules, the channels and scheduled reports."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from psycopg import AsyncConnection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.alerts.history import AlertRow, StepRow, acknowledge, list_history, list_steps
from headwater.alerts.notifications.channels import list_channels
from headwater.alerts.notifications.messages import list_messages
from headwater.alerts.problems import Alert
from headwater.alerts.reported_figures import UNITS
from headwater.alerts.rules import OF_COUNTS, TEXTS, Rule, Sensitivity
from headwater.alerts.watches import RuleChoice, choose, read_choices
from headwater.console.flash import FlashMessage
from headwater.console.forms import once_token, read_form
from headwater.console.pages import hidden_token, redirect, render
from headwater.console.report_pages.bar import SHAREABLE
from headwater.console.report_pages.saved_views import list_views
from headwater.console.scheduled_reports.scheduled_reports import list_reports
from headwater.console.visitor import HOME, SpaceVisitor, enter, require_visitor
from headwater.endpoints.services import services
from headwater.http.errors import Errors, Invalid
from headwater.http.inputs.parameters import Query
from headwater.spaces.accounts.members import list_members
from headwater.spaces.accounts.roles import Permission

CHANNEL_FORM, REPORT_FORM = "create channel", "schedule report"
RULE_FORM, ACKNOWLEDGE_FORM = "alert rule", "acknowledge alert"
LISTED = 50
MUTES = {"": "not muted", "1": "a day", "7": "a week", "30": "30 days"}
SENSITIVITIES = {
    Sensitivity.LOW: "low: only what is unmistakable",
    Sensitivity.NORMAL: "normal",
    Sensitivity.HIGH: "high: small changes, too",
}
_SHARES = (Rule.UNATTRIBUTED_ROSE, Rule.DELIVERIES_FAILED)
_USUAL: dict[str, Any] = {
    "kind": "email",
    "name": "",
    "address": "",
    "rules": [*Rule],
    "channels": [],
    "page": "",
    "query": "",
    "cadence": "weekly",
    "day": "0",
    "hour": "7",
    "with_csv": "",
    "form": "",
    "view": "",
}


@dataclass(frozen=True)
class ListedAlert:
    """An alert with what became of it."""

    row: AlertRow
    steps: list[StepRow]

    @property
    def remedy(self) -> str:
        """Advice on how to solve it."""
        return TEXTS[Rule(self.row.rule)].advice

    @property
    def page(self) -> str:
        """The end of the address of the page where one deals with it."""
        end = TEXTS[Rule(self.row.rule)].page
        is_platform = end == "/platforms" and self.row.subject
        return f"{end}/{self.row.subject}" if is_platform else end

    def figures(self, step: StepRow) -> str:
        """Return the figures that decided a step, in words; nothing where none did."""
        if step.observed is None or step.usual_low is None or step.usual_high is None:
            return ""
        values = (step.observed, step.usual_low, step.usual_high)
        observed, low, high = (self._written(value) for value in values)
        is_daily = self.row.rule == Rule.SOURCE_REVENUE_FELL
        noun = "day" if is_daily else "hour"
        span = f"{step.span} {noun}{'s' * (step.span != 1)}"
        return f"{observed} in {span}, usually {low} to {high}"

    def _written(self, value: float) -> str:
        if self.row.rule in _SHARES:
            return f"{value:.0%}"
        if self.row.rule == Rule.SOURCE_REVENUE_FELL:
            return f"{value / UNITS:,.0f}"
        return f"{value:,.0f}"


async def show_alerts(request: Request) -> Response:
    """Show the page; parameters fill in the form of a scheduled report."""
    visitor = await require_visitor(request)
    query = Query(request.scope["query_string"])
    typed = {name: str(query.single(name) or "") for name in ("page", "query")}
    async with services(request).database.transaction() as connection:
        inside = await enter(connection, request, visitor)
        return await alerts_page(connection, request, inside, typed=typed)


async def post_acknowledge(request: Request) -> Response:
    """Note that somebody deals with an alert."""
    visitor = await require_visitor(request)
    form = await read_form(request, visitor.form_key, ACKNOWLEDGE_FORM)
    async with services(request).database.transaction() as connection:
        inside = await enter(connection, request, visitor, Permission.CHANGE_SETTINGS)
        is_new = await acknowledge(
            connection, inside.space.id, form.number("alert"), visitor.user.id, datetime.now(UTC)
        )
    flash = FlashMessage.ALERT_ACKNOWLEDGED if is_new else FlashMessage.NOTHING_CHANGED
    return redirect(request, alerts_path(inside.space.id), flash)


async def post_rule(request: Request) -> Response:
    """Choose for a rule: on or off, how sensitive, and whether it is muted for some days."""
    visitor = await require_visitor(request)
    form = await read_form(request, visitor.form_key, RULE_FORM)
    async with services(request).database.transaction() as connection:
        inside = await enter(connection, request, visitor, Permission.CHANGE_SETTINGS)
        rule, sensitivity, days = form.text("rule"), form.text("sensitivity"), form.text("mute")
        if rule not in frozenset(Rule):
            raise Invalid.of("rule", "must be one of those that there are.")
        before = (await read_choices(connection, inside.space.id))[Rule(rule)]
        if sensitivity not in frozenset(Sensitivity):
            sensitivity = str(before.sensitivity)
        if days not in (*MUTES, "keep"):
            raise Invalid.of("mute", f"must be one of {', '.join(filter(None, MUTES))} days.")
        until = datetime.now(UTC) + timedelta(days=int(days)) if days.isdigit() else None
        if days == "keep":
            until = before.muted_until
        choice = RuleChoice(form.text("is_on") == "yes", Sensitivity(sensitivity), until)
        await choose(connection, inside.space.id, Rule(rule), choice)
    return redirect(request, f"{alerts_path(inside.space.id)}#rules", FlashMessage.RULE_SAVED)


async def alerts_page(
    connection: AsyncConnection,
    request: Request,
    inside: SpaceVisitor,
    *,
    typed: dict[str, Any] | None = None,
    errors: Errors | None = None,
    test: tuple[int, str | None] | None = None,
) -> Response:
    """Return the page; `test` is a channel that was tried, and what went wrong."""
    space, now, shared = inside.space, datetime.now(UTC), services(request)
    history = [
        await list_history(connection, space.id, is_open=is_open, most=LISTED) for is_open in (True, False)
    ]
    steps = await list_steps(connection, space.id, [row.id for rows in history for row in rows])
    opened, ended = ([ListedAlert(row, steps[row.id]) for row in rows] for rows in history)
    members = await list_members(connection, space.id)
    views = [view for view in await list_views(connection, inside) if view.page in SHAREABLE]
    form_key = inside.visitor.form_key
    return render(
        request,
        "alerts.html",
        status=422 if errors else 200,
        base=f"{HOME}/spaces/{space.id}",
        path_of=alerts_path(space.id),
        opened=opened,
        ended=ended,
        now=now,
        fresh=_fresh(inside, opened),
        no_errors=defaultdict[str, list[str]](list),
        choices=await read_choices(connection, space.id),
        texts=TEXTS,
        of_counts=OF_COUNTS,
        channels=await list_channels(connection, space.id),
        messages=await list_messages(connection, space.id),
        reports=await list_reports(connection, space.id),
        views=views,
        pages=SHAREABLE,
        mutes=MUTES,
        sensitivities=SENSITIVITIES,
        names={member.user_id: member.display_name for member in members},
        typed=_USUAL | {key: value for key, value in (typed or {}).items() if value is not None},
        errors=errors or {},
        test=test,
        sends_mail=shared.settings.smtp_url is not None and shared.settings.mail_from is not None,
        email=inside.visitor.user.email,
        channel_once=hidden_token(once_token(form_key, CHANNEL_FORM)),
        report_once=hidden_token(once_token(form_key, REPORT_FORM)),
    )


def _fresh(inside: SpaceVisitor, opened: list[ListedAlert]) -> list[Alert]:
    """Return problems of this moment that the history does not have yet."""
    known = {(each.row.rule, each.row.subject) for each in opened}
    return [
        alert
        for alert in inside.alerts
        if not alert.is_of_figures and (alert.kind, str(alert.destination_id or "")) not in known
    ]


def alerts_path(space_id: int) -> str:
    """Return the address of the page."""
    return f"{HOME}/spaces/{space_id}/alerts"


_PATH = f"{HOME}/spaces/{{space_id}}/alerts"
ROUTES = [
    Route(_PATH, show_alerts, methods=["GET"]),
    Route(f"{_PATH}/acknowledge", post_acknowledge, methods=["POST"]),
    Route(f"{_PATH}/rule", post_rule, methods=["POST"]),
]
