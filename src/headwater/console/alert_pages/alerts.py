"""Open alerts, history, rules, channels and scheduled reports."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from starlette.responses import Response

from headwater.alerts.history import AlertRow, StepRow, acknowledge, list_history, list_steps
from headwater.alerts.notifications.channels import list_channels
from headwater.alerts.notifications.messages import list_messages
from headwater.alerts.problems import Alert
from headwater.alerts.reported_figures import UNITS
from headwater.alerts.rules import OF_COUNTS, TEXTS, Rule, Sensitivity
from headwater.alerts.watches import RuleChoice, choose, read_choices
from headwater.console.flash import FlashMessage
from headwater.console.report_pages.bar import SHAREABLE
from headwater.console.report_pages.saved_views import list_views
from headwater.console.scheduled_reports.scheduled_reports import list_reports
from headwater.console.visitor import SpaceVisitor
from headwater.console.visits import PageVisit, SentForm, SpacePages
from headwater.http.errors import Errors, Invalid
from headwater.spaces.accounts.members import list_members
from headwater.spaces.accounts.roles import Permission

ROUTES = SpacePages("/alerts")
CHANNEL_FORM = SentForm("create channel", Permission.CHANGE_SETTINGS, once=True)
REPORT_FORM = SentForm("schedule report", Permission.CHANGE_SETTINGS, once=True)
LISTED = 50
MUTES = {"": "not muted", "1": "a day", "7": "a week", "30": "30 days"}
SENSITIVITIES = {
    Sensitivity.LOW: "low: only large changes",
    Sensitivity.NORMAL: "normal",
    Sensitivity.HIGH: "high: small changes too",
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
    row: AlertRow
    steps: list[StepRow]

    @property
    def remedy(self) -> str:
        return TEXTS[Rule(self.row.rule)].advice

    @property
    def page(self) -> str:
        """Return the path of the page that helps, below the Space's."""
        end = TEXTS[Rule(self.row.rule)].page
        is_platform = end == "/platforms" and self.row.subject
        return f"{end}/{self.row.subject}" if is_platform else end

    def figures(self, step: StepRow) -> str:
        """Return a transition's figures in words; empty without any."""
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


@ROUTES.page()
async def show_alerts(visit: PageVisit) -> Response:
    """Fill in the form for a scheduled report from parameters."""
    query = visit.query
    return await alerts_page(visit, typed={name: str(query.single(name) or "") for name in ("page", "query")})


@ROUTES.action("/acknowledge", SentForm("acknowledge alert", Permission.CHANGE_SETTINGS))
async def post_acknowledge(visit: PageVisit) -> FlashMessage:
    alert_id, current_time = visit.form.number("alert"), datetime.now(UTC)
    is_new = await acknowledge(visit.connection, visit.space.id, alert_id, visit.user_id, current_time)
    return FlashMessage.ALERT_ACKNOWLEDGED if is_new else FlashMessage.NOTHING_CHANGED


@ROUTES.action("/rule", SentForm("alert rule", Permission.CHANGE_SETTINGS))
async def post_rule(visit: PageVisit) -> Response:
    rule, sensitivity, days = visit.form.text("rule"), visit.form.text("sensitivity"), visit.form.text("mute")
    if rule not in frozenset(Rule):
        raise Invalid.of("rule", "must be an existing rule.")
    before = (await read_choices(visit.connection, visit.space.id))[Rule(rule)]
    if sensitivity not in frozenset(Sensitivity):
        sensitivity = str(before.sensitivity)
    if days not in (*MUTES, "keep"):
        raise Invalid.of("mute", f"must be one of {', '.join(filter(None, MUTES))} days.")
    until = datetime.now(UTC) + timedelta(days=int(days)) if days.isdigit() else None
    if days == "keep":
        until = before.muted_until
    choice = RuleChoice(visit.form.text("is_on") == "yes", Sensitivity(sensitivity), until)
    await choose(visit.connection, visit.space.id, Rule(rule), choice)
    return visit.redirect("/alerts#rules", FlashMessage.RULE_SAVED)


async def alerts_page(
    visit: PageVisit,
    *,
    typed: dict[str, Any] | None = None,
    errors: Errors | None = None,
    test: tuple[int, str | None] | None = None,
) -> Response:
    """Return the page; `test` is a tested channel and its error."""
    connection, space, current_time = visit.connection, visit.space, datetime.now(UTC)
    history = [
        await list_history(connection, space.id, is_open=is_open, limit=LISTED) for is_open in (True, False)
    ]
    steps = await list_steps(connection, space.id, [row.id for rows in history for row in rows])
    opened, ended = ([ListedAlert(row, steps[row.id]) for row in rows] for rows in history)
    members = await list_members(connection, space.id)
    views = [view for view in await list_views(connection, visit.inside) if view.page in SHAREABLE]
    settings = visit.services.settings
    values: dict[str, Any] = {
        "base": visit.path(),
        "alerts_path": visit.path("/alerts"),
        "opened": opened,
        "ended": ended,
        "now": current_time,
        "fresh": _fresh(visit.inside, opened),
        "no_errors": defaultdict[str, list[str]](list),
        "choices": await read_choices(connection, space.id),
        "texts": TEXTS,
        "of_counts": OF_COUNTS,
        "channels": await list_channels(connection, space.id),
        "messages": await list_messages(connection, space.id),
        "reports": await list_reports(connection, space.id),
        "views": views,
        "pages": SHAREABLE,
        "mutes": MUTES,
        "sensitivities": SENSITIVITIES,
        "names": {member.user_id: member.display_name for member in members},
        "typed": _USUAL | {key: value for key, value in (typed or {}).items() if value is not None},
        "errors": errors or {},
        "test": test,
        "sends_mail": settings.smtp_url is not None and settings.mail_from is not None,
        "email": visit.inside.visitor.user.email,
        "channel_once": visit.once(CHANNEL_FORM.name),
        "report_once": visit.once(REPORT_FORM.name),
    }
    return visit.render("alerts.html", values, 422 if errors else 200)


def _fresh(inside: SpaceVisitor, opened: list[ListedAlert]) -> list[Alert]:
    opened_keys = {(alert.row.rule, alert.row.subject) for alert in opened}
    return [
        alert
        for alert in inside.alerts
        if not alert.is_about_figures and (alert.kind, str(alert.destination_id or "")) not in opened_keys
    ]
