"""The data quality of a period. Checks read a limited number of the latest rows, so that a large Space stays
cheap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from psycopg import AsyncConnection

from headwater.alerts.problems import MOST_COUNTED, Alert, list_problems
from headwater.alerts.quality.event_checks import EventChecks, read_reasons
from headwater.alerts.quality.link_checks import check_own_links
from headwater.alerts.quality.models import Finding, FindingKind, FindingPart, QualityReport, find_title
from headwater.alerts.quality.touchpoint_checks import TouchpointChecks
from headwater.alerts.rules import Rule
from headwater.http.inputs.timerange import TimeRange
from headwater.spaces.models import Space

_OF_ALERTS = {
    Rule.DESTINATION_HELD: FindingKind.DESTINATION_HELD,
    Rule.DELIVERIES_LATE: FindingKind.DELIVERIES_LATE,
    Rule.PROCESSING_LATE: FindingKind.PROCESSING_LATE,
    Rule.EVENTS_REJECTED: FindingKind.EVENTS_REJECTED,
}


async def check_quality(connection: AsyncConnection, space: Space, period: TimeRange) -> QualityReport:
    """Return the most urgent findings first."""
    alerts = _convert_alerts(await list_problems(connection, space.id))
    events = await EventChecks(connection, space, period).run()
    touchpoints = await TouchpointChecks(connection, space, period).run()
    own_links = await check_own_links(connection, space.id, period)
    reasons = await read_reasons(connection, space.id)
    findings = {
        finding.kind: finding
        for finding in (*alerts, *events.findings, *touchpoints.findings, own_links)
        if finding.count
    }
    if (rejected := findings.get(FindingKind.EVENTS_REJECTED)) is not None:
        findings[rejected.kind] = replace(rejected, parts=reasons)
    return QualityReport(
        tuple(findings[kind] for kind in FindingKind if kind in findings),
        events.sample,
        touchpoints.sample,
        events.orders,
        tuple(find_title(kind) for kind in FindingKind if kind not in findings),
    )


def _convert_alerts(alerts: Sequence[Alert]) -> list[Finding]:
    """Combine destinations with the same problem into one finding."""
    findings: list[Finding] = []
    for alert_kind, kind in _OF_ALERTS.items():
        kind_alerts = [alert for alert in alerts if alert.kind is alert_kind]
        if not kind_alerts:
            continue
        if kind_alerts[0].destination_id is None:
            count = kind_alerts[0].count
            findings.append(Finding(kind, count, count >= MOST_COUNTED))
            continue
        parts = tuple(
            FindingPart(alert.title, alert.count, destination_id=alert.destination_id, detail=alert.detail)
            for alert in kind_alerts
        )
        findings.append(Finding(kind, len(kind_alerts), parts=parts))
    return findings
