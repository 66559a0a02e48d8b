"""Rules of alerts and the channels they go to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response

from headwater.alerts.custom_rules.models import (
    COST_TITLES,
    PERCENTAGES,
    PERIODS,
    REPORT_TITLES,
    SPENDER_GROUPS,
    RuleTerms,
    read_terms,
)
from headwater.alerts.custom_rules.stored_rules import (
    change_rule,
    create_rule,
    delete_rule,
    list_filters,
    list_rules,
    mute_rule,
)
from headwater.alerts.history import list_history
from headwater.alerts.notifications.channels import list_channels
from headwater.alerts.notifications.messages import list_messages
from headwater.alerts.rules import OF_COUNTS, TEXTS, Rule, Sensitivity
from headwater.alerts.watches import RuleChoice, choose, read_choices
from headwater.console.flash import FlashMessage
from headwater.console.tables import write_missing
from headwater.console.visits import PageVisit, Refusal, SentForm, SpacePages, list_form_errors
from headwater.http.errors import Errors, Invalid
from headwater.reports.query import Group
from headwater.spaces.accounts.roles import Permission
from headwater.spaces.models import Space

ROUTES = SpacePages("/alerts/rules")
CHANNEL_FORM = SentForm("create channel", Permission.CHANGE_SETTINGS, once=True, changes=("alert_channel",))
_CREATE = SentForm("create rule", Permission.CHANGE_SETTINGS, once=True, changes=("custom_alert_rule",))
_CHANGE = SentForm("change rule", Permission.CHANGE_SETTINGS, changes=("custom_alert_rule",))
MUTES = {"": "not muted", "1": "a day", "7": "a week", "30": "30 days"}
SENSITIVITIES = {
    Sensitivity.LOW: "low: only large changes",
    Sensitivity.NORMAL: "normal",
    Sensitivity.HIGH: "high: small changes too",
}
_TERMS = ("measure", "condition", "threshold", "days", "filter", "group_by")
_USUAL: dict[str, Any] = {
    "form": "",
    "rule": "",
    "kind": "email",
    "name": "",
    "address": "",
    "rules": [*Rule],
    "measure": "roas",
    "condition": "below",
    "threshold": "",
    "days": "7",
    "filter": "",
    "group_by": "",
    "listed": True,
}


@ROUTES.page()
async def show_rules(visit: PageVisit) -> Response:
    """Open the form of the rule named in the address: one form, because its list of campaigns is long."""
    return await rules_page(visit, typed={"rule": str(visit.query.single("change") or "")})


@ROUTES.action("/built-in", SentForm("alert rule", Permission.CHANGE_SETTINGS, changes=("alert_rule",)))
async def post_built_in(visit: PageVisit) -> FlashMessage:
    rule, sensitivity = visit.form.text("rule"), visit.form.text("sensitivity")
    if rule not in frozenset(Rule):
        raise Invalid.of("rule", "must be an existing rule.")
    before = (await read_choices(visit.connection, visit.space.id))[Rule(rule)]
    if sensitivity not in frozenset(Sensitivity):
        sensitivity = str(before.sensitivity)
    muted_until = _read_mute(visit, before.muted_until)
    choice = RuleChoice(visit.form.text("is_on") == "yes", Sensitivity(sensitivity), muted_until)
    await choose(visit.connection, visit.space.id, Rule(rule), choice)
    return FlashMessage.RULE_SAVED


async def _refuse(visit: PageVisit, refusal: Refusal) -> Response:
    return await rules_page(visit, typed=visit.typed("rule", *_TERMS), errors=list_form_errors(refusal))


@ROUTES.action("/create", _CREATE, _refuse)
async def post_create(visit: PageVisit) -> FlashMessage:
    await create_rule(visit.connection, visit.space.id, await _read_terms(visit))
    return FlashMessage.RULE_SAVED


@ROUTES.action("/change", _CHANGE, _refuse)
async def post_change(visit: PageVisit) -> FlashMessage:
    rule_id = visit.form.number("rule")
    rules = {rule.id: rule.terms for rule in await list_rules(visit.connection, visit.space.id)}
    terms = await _read_terms(visit, rules.get(rule_id))
    await change_rule(visit.connection, visit.space.id, rule_id, terms, datetime.now(UTC))
    return FlashMessage.RULE_SAVED


@ROUTES.action(
    "/mute", SentForm("mute rule", Permission.CHANGE_SETTINGS, changes=("alert_rule", "custom_alert_rule"))
)
async def post_mute(visit: PageVisit) -> FlashMessage:
    await mute_rule(visit.connection, visit.space.id, visit.form.number("rule"), _read_mute(visit, None))
    return FlashMessage.RULE_SAVED


@ROUTES.action("/delete", SentForm("delete rule", Permission.CHANGE_SETTINGS, changes=("custom_alert_rule",)))
async def post_delete(visit: PageVisit) -> FlashMessage:
    await delete_rule(visit.connection, visit.space.id, visit.form.number("rule"), datetime.now(UTC))
    return FlashMessage.RULE_DELETED


async def rules_page(
    visit: PageVisit,
    *,
    typed: dict[str, Any] | None = None,
    errors: Errors | None = None,
    test: tuple[int, str | None] | None = None,
) -> Response:
    """Return the page; `test` is a tested channel and its error."""
    connection, space = visit.connection, visit.space
    opened_alerts, filters = (
        await list_history(connection, space.id, is_open=True),
        await list_filters(connection, space),
    )
    values: dict[str, Any] = {
        "path": visit.path("/alerts/rules"),
        "channels_path": visit.path("/alerts/channels"),
        "now": datetime.now(UTC),
        "custom_rules": await list_rules(connection, space.id),
        "breached": {alert.subject for alert in opened_alerts if alert.rule == Rule.CUSTOM},
        "filters": filters,
        "form_values": partial(_list_form_values, filters),
        "report_end": partial(_find_report, space),
        "cost_titles": COST_TITLES,
        "report_titles": REPORT_TITLES | {name: f"{REPORT_TITLES[name]} (%)" for name in PERCENTAGES},
        "periods": {str(days): text for days, text in PERIODS.items()},
        "spenders": {str(group): str(group) for group in SPENDER_GROUPS},
        "no_errors": defaultdict[str, list[str]](list),
        "choices": await read_choices(connection, space.id),
        "texts": TEXTS,
        "built_in": {rule: text for rule, text in TEXTS.items() if rule is not Rule.CUSTOM},
        "of_counts": OF_COUNTS,
        "channels": await list_channels(connection, space.id),
        "messages": await list_messages(connection, space.id),
        "mutes": MUTES,
        "write_missing": write_missing,
        "sensitivities": SENSITIVITIES,
        "usual": _USUAL,
        "typed": _USUAL | {key: value for key, value in (typed or {}).items() if value is not None},
        "errors": errors or {},
        "test": test,
        "channel_once": visit.once(CHANNEL_FORM.name),
        "rule_once": visit.once(_CREATE.name),
    }
    return visit.render("alert_rules.html", values, 422 if errors else 200)


async def _read_terms(visit: PageVisit, previous: RuleTerms | None = None) -> RuleTerms:
    """Read a form, which may keep the previous filter. Raise Invalid for bad input."""
    groups = await list_filters(visit.connection, visit.space)
    names = {key: title for filters in groups.values() for key, title in filters.items()}
    if previous is not None:
        names.setdefault(previous.filter, previous.filter_name)
    return read_terms(visit.typed(*_TERMS), names, visit.space.currency)


def _list_form_values(filters: Mapping[str, Mapping[str, str]], terms: RuleTerms) -> dict[str, Any]:
    return {
        "measure": terms.measure,
        "condition": terms.condition,
        "threshold": f"{terms.threshold.normalize():f}",
        "days": str(terms.days),
        "filter": terms.filter,
        "filter_name": terms.filter_name,
        "listed": any(terms.filter in names for names in filters.values()),
        "group_by": terms.group_by,
    }


def _find_report(space: Space, terms: RuleTerms) -> str:
    """Return the page with the rule's figure, below the Space's path."""
    first, last = terms.find_days(datetime.now(space.zone).date())
    choices: dict[str, Any] = {"start_date": first, "end_date": last}
    if terms.filter:
        choices["only"] = terms.filter
    if terms.needs_spend_report:
        choices["group"] = terms.group_by or Group.PLATFORM
    page = "/campaigns" if terms.needs_spend_report else ""
    return f"{page}?{urlencode(choices)}"


def _read_mute(visit: PageVisit, previous: datetime | None) -> datetime | None:
    days = visit.form.text("mute")
    if days not in (*MUTES, "keep"):
        raise Invalid.of("mute", f"must be one of {', '.join(filter(None, MUTES))} days.")
    if days == "keep":
        return previous
    return datetime.now(UTC) + timedelta(days=int(days)) if days else None
