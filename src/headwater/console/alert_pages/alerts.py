"""Open alerts and their history."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from msgspec import Struct
from starlette.responses import Response

from headwater.alerts.causes import write_usual
from headwater.alerts.history import AlertRow, StepRow, acknowledge, list_history, list_steps
from headwater.alerts.problems import Alert
from headwater.alerts.rules import TEXTS, Rule
from headwater.alerts.series import UsualRange
from headwater.console.flash import FlashMessage
from headwater.console.visitor import SpaceVisitor
from headwater.console.visits import PageVisit, SentForm, SpacePages
from headwater.spaces.accounts.members import list_members
from headwater.spaces.accounts.roles import Permission
from headwater.spaces.audit.entries import AuditChange

ROUTES = SpacePages("/alerts")
MOST_LISTED = 50


class ListedAlert(Struct, frozen=True):
    row: AlertRow
    steps: list[StepRow]
    currency: str

    @property
    def remedy(self) -> str:
        return TEXTS[Rule(self.row.rule)].advice

    @property
    def page(self) -> str:
        """Return the path of the page that helps, below the Space's."""
        end = TEXTS[Rule(self.row.rule)].page
        has_page = end in ("/platforms", "/spend/connections", "/spend/watched") and self.row.subject
        return f"{end}/{self.row.subject}" if has_page else end

    def figures(self, step: StepRow) -> str:
        """Return a transition's figures in words; empty without any."""
        low, middle, high = step.usual_low, step.usual_middle, step.usual_high
        if step.observed is None or step.span is None or low is None or middle is None or high is None:
            return ""
        usual = UsualRange(low, middle, high)
        return write_usual(self.currency, Rule(self.row.rule), step.observed, usual, step.span)


@ROUTES.page()
async def show_alerts(visit: PageVisit) -> Response:
    connection, space = visit.connection, visit.space
    history = [
        await list_history(connection, space.id, is_open=is_open, limit=MOST_LISTED)
        for is_open in (True, False)
    ]
    steps = await list_steps(connection, space.id, [row.id for rows in history for row in rows])
    opened_alerts, ended_alerts = (
        [ListedAlert(row, steps[row.id], space.currency) for row in rows] for rows in history
    )
    values: dict[str, Any] = {
        "opened": opened_alerts,
        "ended": ended_alerts,
        "fresh": _list_unrecorded(visit.inside, opened_alerts),
        "texts": TEXTS,
        "names": {member.user_id: member.display_name for member in await list_members(connection, space.id)},
    }
    return visit.render("alerts.html", values)


@ROUTES.action("/acknowledge", SentForm("acknowledge alert", Permission.CHANGE_SETTINGS))
async def post_acknowledge(visit: PageVisit) -> FlashMessage:
    alert_id, current_time = visit.form.number("alert"), datetime.now(UTC)
    is_new = await acknowledge(visit.connection, visit.space.id, alert_id, visit.user_id, current_time)
    if is_new:
        visit.note(AuditChange("alert", alert_id, after={"acknowledged": True}))
    return FlashMessage.ALERT_ACKNOWLEDGED if is_new else FlashMessage.NOTHING_CHANGED


def _list_unrecorded(inside: SpaceVisitor, opened: list[ListedAlert]) -> list[Alert]:
    opened_keys = {(alert.row.rule, alert.row.subject) for alert in opened}
    return [
        alert
        for alert in inside.alerts
        if not alert.is_about_figures and (alert.kind, alert.subject) not in opened_keys
    ]
