"""Pages that solve a problem, and their texts. The command line has equivalent commands."""

from __future__ import annotations

from msgspec import Struct

from headwater.alerts.problems import Alert
from headwater.alerts.quality.models import Finding, FindingKind
from headwater.alerts.rules import OF_FIGURES, TEXTS, Rule


class RemedyPlace(Struct, frozen=True):
    label: str
    end: str


_ADVICE = {
    FindingKind.LEFT_OUT_MONEY: (
        "Add exchange rates, and correct or delete wrong events: each example links to its event."
    ),
    FindingKind.DESTINATION_HELD: TEXTS[Rule.DESTINATION_HELD].advice,
    FindingKind.DELIVERIES_LATE: TEXTS[Rule.DELIVERIES_LATE].advice,
    FindingKind.EVENTS_REJECTED: TEXTS[Rule.EVENTS_REJECTED].advice,
}
"""Advice by kind of finding, with pages instead of commands."""

_ORDERS = RemedyPlace("Shop and payments", "/orders")
_SOURCES_HOSTS = RemedyPlace("All your domains and excluded hosts", "/sources#hosts")
_SITES = RemedyPlace("Test your site", "/sites")
_LINKS = RemedyPlace("Build tagged links", "/links")
_PLACES = {
    FindingKind.EVENTS_REJECTED: (RemedyPlace("Refused webhook deliveries and file rows", "/orders"),),
    FindingKind.DUPLICATE_ORDERS: (_ORDERS,),
    FindingKind.REFUNDS_WITHOUT_ORDER: (_ORDERS,),
    FindingKind.PAYMENT_REFERRERS: (_SOURCES_HOSTS,),
    FindingKind.SELF_REFERRALS: (_SOURCES_HOSTS,),
    FindingKind.UNKNOWN_NETWORKS: (RemedyPlace("All your paid networks", "/sources#networks"),),
    FindingKind.UNKNOWN_UTM_SOURCES: (
        RemedyPlace("All your source names", "/sources#names"),
        RemedyPlace("Test an address", "/sources"),
    ),
    FindingKind.NO_UTM_SOURCE: (_LINKS,),
    FindingKind.UNTAGGED_CLICKS: (RemedyPlace("Parameters for ad platforms", "/links#templates"), _LINKS),
    FindingKind.ORDERS_WITHOUT_VISIT: (_SITES, _ORDERS),
    FindingKind.ORDERS_WITHOUT_EMAIL: (_ORDERS,),
    FindingKind.LEFT_OUT_MONEY: (RemedyPlace("Currencies", "/rates"), _ORDERS),
    FindingKind.FUTURE_EVENTS: (_ORDERS,),
}

_ALERT_PLACES = {
    Rule.EVENTS_REJECTED: RemedyPlace("See the reasons", f"/data-quality#{FindingKind.EVENTS_REJECTED}"),
    Rule.JOINS_REFUSED: RemedyPlace("Change the site's settings", "/sites"),
    Rule.KEY_EXPIRING: RemedyPlace("Rotate the key", "/keys"),
}


def get_advice(problem: Alert | Finding) -> str:
    """Return advice with pages; the problem's own if no page helps."""
    if isinstance(problem, Alert):
        return TEXTS[problem.kind].advice
    return _ADVICE.get(problem.kind, problem.remedy)


def find_remedy_pages(finding: Finding) -> tuple[RemedyPlace, ...]:
    return _PLACES.get(finding.kind, ())


def find_alert_page(alert: Alert) -> RemedyPlace | None:
    if alert.destination_id is not None:
        is_late = alert.kind is Rule.DELIVERIES_LATE
        end = f"/platforms/{alert.destination_id}"
        return RemedyPlace(
            "See what waits" if is_late else "Replace its token",
            f"{end}?status=retrying#deliveries" if is_late else end,
        )
    if alert.connection_id is not None or alert.watched_file_id is not None:
        noun = "connection" if alert.watched_file_id is None else "address"
        return RemedyPlace(f"See the {noun}", alert.page)
    if alert.kind in OF_FIGURES:
        return RemedyPlace("See the alert", "/alerts")
    return _ALERT_PLACES.get(alert.kind)
