"""The title and the probable cause of an alert about figures."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from functools import partial
from math import sqrt
from typing import Any

from msgspec import Struct
from psycopg import AsyncConnection

from headwater.alerts.models import Judgement, SpaceCounts
from headwater.alerts.reported_figures import UNITS
from headwater.alerts.rules import OF_DESTINATIONS, SHARES, Rule
from headwater.alerts.series import UsualRange
from headwater.base.dates import format_day_and_time
from headwater.database.queries import Queries, fetch_all, fetch_one, fetch_optional
from headwater.people.identity.senders import Sender
from headwater.sources.titles import format_title
from headwater.spaces.currencies import write_estimate
from headwater.spaces.models import Space

queries = Queries(__name__, "causes.sql")

LATELY = timedelta(hours=3)
"""Only earlier events within this time can be the cause."""
MOST = 1_000
_SENDERS = {
    Sender.API_KEY: "over the API",
    Sender.WEBHOOK: "by webhook",
    Sender.IMPORT: "by import",
    Sender.ASSISTANT: "by an assistant",
    Sender.BROWSER: "from the shop's pages",
    Sender.SIGNED_BROWSER: "from the shop's pages",
}
_REFUSALS = {
    "origin": "Reports of visits are refused: they come from {}, which is not an address of the site.",
    "key": "Reports of visits are refused: they have the unknown site key {}.",
    "clock": "Reports of visits are refused: the clocks of their browsers, or the server's, are wrong.",
    "invalid": "Reports of visits are refused: their field {} is not valid.",
}


class CauseEvidence(Struct, frozen=True):
    connection: AsyncConnection
    space: Space
    counts: SpaceCounts
    at: datetime

    def values(self, judgement: Judgement, **other_values: Any) -> dict[str, Any]:
        since = self.at - timedelta(hours=judgement.steps) - LATELY
        return {"space_id": self.space.id, "since": since, "until": self.at, "most": MOST, **other_values}


async def name_title(evidence: CauseEvidence, judgement: Judgement) -> str:
    """Return a title without full stop."""
    word = "stopped" if judgement.is_severe else "fell"
    rule, subject = judgement.rule, judgement.subject
    usual = write_usual(evidence.space.currency, rule, judgement.observed, judgement.usual, judgement.steps)
    if rule in OF_DESTINATIONS:
        values = evidence.values(judgement, destination_id=int(subject))
        row = await fetch_optional(evidence.connection, queries["destination"], values)
        name = f"“{row[0] if row else subject}”"
        if rule is Rule.IDENTIFIERS_MISSING:
            return f"Conversions for {name} have no identifier: {usual}"
        return f"Deliveries to {name} fail: {usual}"
    source = format_title(subject) if subject else ""
    title = {
        Rule.VISITS_FELL: f"Visits {word}",
        Rule.ORDERS_FELL: f"Orders {word}",
        Rule.SOURCE_VISITS_FELL: f"Visits of {source} {word}",
        Rule.SOURCE_REVENUE_FELL: f"Revenue of {source} is low",
        Rule.UNATTRIBUTED_ROSE: "Unattributed orders jumped",
        Rule.ORDERS_REPEATED: "Orders arrive twice",
        Rule.REJECTIONS_ROSE: "Rejections jumped",
    }[rule]
    return f"{title}: {usual}"


def write_usual(currency: str, rule: Rule, observed: float, usual: UsualRange, steps: int) -> str:
    """Return an observed figure with its usual range."""
    if rule in SHARES:
        range_text = _write_range(observed, usual, "{:.0%}".format)
        return f"{observed:.0%} in {_span(steps, 'hour')}, usually {range_text}"
    if rule is Rule.SOURCE_REVENUE_FELL:
        write = partial(_write_revenue, currency=currency)
        amount = f"{write(observed)} {currency}"
        return f"{amount} in {_span(steps, 'day')}, usually {_write_range(observed, usual, write)}"
    number = f"{observed:,.0f} in {_span(steps, 'hour')}"
    range_text = "none" if usual.high < 1 else _write_range(observed, usual, "{:,.0f}".format)
    return f"{number}, usually {range_text}"


def _write_revenue(units: float, currency: str) -> str:
    return write_estimate(units / UNITS, currency)


def _write_range(observed: float, usual: UsualRange, write: Callable[[float], str]) -> str:
    """Return the usual range, or its middle if both ends are written the same, or if the range contains the
    observed figure: after a week of outages, `usually 0 to 24` would not explain why 1 is unusual.
    """
    low, middle, high = map(write, (usual.low, usual.middle, usual.high))
    is_one_figure = low == high or usual.low <= observed <= usual.high
    return f"about {middle}" if is_one_figure else f"{low} to {high}"


async def find_cause(evidence: CauseEvidence, judgement: Judgement) -> str:
    return await _FINDERS[judgement.rule](evidence, judgement)


async def _explain_visits(evidence: CauseEvidence, judgement: Judgement) -> str:
    row = await fetch_optional(evidence.connection, queries["refusals"], evidence.values(judgement))
    if row is not None:
        return _REFUSALS[row[0]].format(row[1])
    number = evidence.counts.orders.total(judgement.steps)
    if judgement.is_severe:
        contrast = f" while {number:,} order{'s' * (number != 1)} arrived" if number else ""
        return (
            f"Almost no page sends visits{contrast}. The tag was probably removed from the pages, or its "
            "address does not respond."
        )
    return (
        "Some pages or browsers stopped reporting visits. Typical causes: a consent banner that does "
        "not respond, a tag missing from some pages, or a blocked script."
    )


async def _explain_orders(evidence: CauseEvidence, judgement: Judgement) -> str:
    values = evidence.values(judgement)
    (count,) = await fetch_one(evidence.connection, queries["refused"], values)
    if count:
        number = f"{count:,} webhook deliveries were" if count > 1 else "A webhook delivery was"
        return f"{number} refused. The webhooks' pages show why."
    key = await fetch_optional(evidence.connection, queries["keys"], values)
    if key is not None:
        name, has_expired = key
        return f"The API key “{name}” {'expired' if has_expired else 'was revoked'} shortly before."
    before = evidence.values(
        judgement,
        until=evidence.at - timedelta(hours=judgement.steps),
        since=evidence.at - timedelta(days=14),
    )
    senders = await fetch_all(evidence.connection, queries["senders"], before)
    if not senders:
        return "Visits arrive as usual, but orders do not."
    known_senders = [Sender(sender) for sender, _, _ in senders if sender]
    way = _SENDERS[known_senders[0]] if known_senders else "over the API"
    last = max(moment for _, _, moment in senders).astimezone(evidence.space.zone)
    if judgement.is_severe:
        return (
            f"Orders came mostly {way}, the last one on {format_day_and_time(last)}. Visits are normal, so "
            "the system that reports orders has probably stopped."
        )
    return (
        f"Only some orders arrive, mostly {way} until now, while visits are normal. One of several "
        "senders, or one payment method, has probably stopped."
    )


async def _explain_source(evidence: CauseEvidence, judgement: Judgement) -> str:
    title = format_title(judgement.subject)
    extra, noise = _other_visits(evidence.counts, judgement)
    if extra > noise:
        return (
            f"The total number of visits is normal, so visits from {title} now count for another source. "
            "A redirect or a changed link has probably removed their parameters or click ids."
        )
    if extra < -noise:
        return (
            f"These visits are missing altogether. {title} probably sends no visitors: its campaigns are "
            "paused, out of budget or rejected, or its links lead elsewhere."
        )
    return (
        f"Either {title} sends no visitors (its campaigns are paused, out of budget or rejected), or a "
        "redirect removes the parameters of its links, so that its visits count for another source."
    )


def _other_visits(counts: SpaceCounts, judgement: Judgement) -> tuple[float, float]:
    """Return the visits beyond those expected if half of the source's were missing, and their deviation."""
    touches, series = counts.touches, counts.by_source[judgement.subject]
    usual_touches, usual_visits = touches.usual(judgement.steps), series.usual(judgement.steps)
    if usual_touches is None or usual_visits is None:
        return 0.0, 0.0
    missing_visits = usual_visits.middle - series.total(judgement.steps)
    extra_visits = touches.total(judgement.steps) - usual_touches.middle + missing_visits / 2
    return extra_visits, sqrt(usual_touches.middle)


async def _explain_revenue(_: CauseEvidence, judgement: Judgement) -> str:
    return (
        f"{format_title(judgement.subject)} was credited with far fewer orders than on the same "
        "weekdays of earlier weeks, while other sources were normal."
    )


async def _explain_unattributed(evidence: CauseEvidence, judgement: Judgement) -> str:
    values = evidence.values(judgement, since=evidence.at - timedelta(hours=judgement.steps))
    row = await fetch_optional(evidence.connection, queries["unattributed_sender"], values)
    way = "" if row is None else f" {_SENDERS[Sender(row[0])]}"
    return (
        f"Orders come{way} without a link to a visit. They have probably stopped including the visitor's "
        "token or e-mail address."
    )


async def _explain_repeats(_: CauseEvidence, __: Judgement) -> str:
    return (
        "The same contact orders for the same amount within minutes, again and again: probably two "
        "senders, such as a page and a webhook, report each order under different ids."
    )


async def _explain_rejections(evidence: CauseEvidence, judgement: Judgement) -> str:
    values = evidence.values(judgement)
    row = await fetch_optional(evidence.connection, queries["rejections"], values)
    if row is None:
        return "An import refused many of its rows: its columns are probably mapped wrongly."
    return f"The most frequent reason is {row[0]}: {row[1]}"


async def _explain_failures(evidence: CauseEvidence, judgement: Judgement) -> str:
    values = evidence.values(judgement, destination_id=int(judgement.subject))
    failed_count, expired_count = await fetch_one(evidence.connection, queries["failures"], values)
    if failed_count >= expired_count:
        return "The platform refuses most events: see its responses in the list of deliveries."
    return "Most of these deliveries expired: the events became too old before the platform accepted them."


async def _explain_identifiers(_: CauseEvidence, __: Judgement) -> str:
    return (
        "Orders still come, but the platform could not match them. Links have probably lost their click ids, "
        "or orders no longer contain the buyer's e-mail."
    )


_FINDERS: dict[Rule, Callable[[CauseEvidence, Judgement], Awaitable[str]]] = {
    Rule.VISITS_FELL: _explain_visits,
    Rule.ORDERS_FELL: _explain_orders,
    Rule.SOURCE_VISITS_FELL: _explain_source,
    Rule.SOURCE_REVENUE_FELL: _explain_revenue,
    Rule.UNATTRIBUTED_ROSE: _explain_unattributed,
    Rule.ORDERS_REPEATED: _explain_repeats,
    Rule.REJECTIONS_ROSE: _explain_rejections,
    Rule.DELIVERIES_FAILED: _explain_failures,
    Rule.IDENTIFIERS_MISSING: _explain_identifiers,
}


def _span(steps: int, noun: str) -> str:
    return f"an {noun}" if noun == "hour" and steps == 1 else f"{steps} {noun}{'s' * (steps != 1)}"
