"""The query that applies the models, for lists, exports and reports.

`credited_rows` is a SELECT to wrap; the outer query orders, pages or sums. Covering indexes compute paths by
event, so the cost follows the page's rows, not the stored rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import Struct
from psycopg import AsyncConnection
from psycopg.sql import SQL, Composable, Composed

from headwater.attribution.models import (
    MODELS,
    PAID,
    TRAINED_WEIGHT,
    CreditedTouches,
    Model,
    SharedAmount,
    Spread,
)
from headwater.database.bulk_values import array
from headwater.database.queries import Queries
from headwater.sources.catalogue import source_mask

queries = Queries(__name__, "attribution.sql")

RARE = 5_000
"""Sources with at most this many touches are looked up by touch."""

_OF_CONTACT = SQL("t.contact_id = e.contact_id")
# Exactly one holds, and each uses its own index; an OR would use neither.
_OF_COMPANY = (
    SQL("t.company_id = e.company_id"),
    SQL("t.contact_id = e.contact_id AND e.company_id IS NULL"),
)
_WITHIN_WINDOW = SQL("t.occurred_at >= e.event_time - make_interval(secs => %(lookback)s)")
_LIFETIME = SQL("true")

# By (by_company, rare): rare sources list their few contacts; others set a bit in the event's source_mask,
# which covers only the contact's own path, not its company's.
_MASKED = SQL("(e.source_mask & %(source_mask)s) <> 0")
_NARROWED: dict[tuple[bool, bool], Composable] = {
    (False, False): _MASKED,
    (False, True): SQL("{} AND e.contact_id = ANY(%(contacts)s)").format(_MASKED),
    (True, False): SQL("true"),
    (True, True): SQL(
        "(e.company_id = ANY(%(companies)s) OR e.company_id IS NULL AND e.contact_id = ANY(%(contacts)s))"
    ),
}


@dataclass(frozen=True)
class Attribution:
    model: str
    window_days: int
    source_ids: tuple[int, ...]
    by_company: bool = False
    """True if paths include the company's touches."""
    weights: tuple[int, ...] = ()
    """Trained weights by source number, from 1; at most a billion."""

    def parameters(self) -> dict[str, Any]:
        """The values of `credited_rows`, besides `space_id`."""
        bound: dict[str, Any] = {"source_ids": list(self.source_ids), "lookback": self.window_days * 86_400}
        if MODELS[self.model].needs_training:
            bound["source_weights"] = array(self.weights)
        return bound

    def creditable(self) -> list[int]:
        """Return requested sources that the model can credit."""
        paid_only = MODELS[self.model].counting == (PAID,)
        return [number for number in self.source_ids if not paid_only or number in PAID.source_ids]


class EventCondition(Struct, frozen=True):
    """A condition on events `e` that every credited row meets."""

    condition: Composable
    parameters: dict[str, Any]


EVERY_EVENT = SQL("events")
OWN_AMOUNT = (SharedAmount.OWN,)
BOTH_AMOUNTS = (SharedAmount.OWN, SharedAmount.IN_SPACE_CURRENCY)

_SPREADS = {
    Spread.LINEAR: "spread",
    Spread.U_SHAPED: "spread",
    Spread.BY_AGE: "spread_by_age",
    Spread.BY_SOURCE: "spread_by_source",
}
_SHARES = {Spread.BY_AGE: "share_by_age", Spread.BY_SOURCE: "share_by_source"}


def credited_rows(
    attribution: Attribution,
    condition: Composable,
    events: Composable = EVERY_EVENT,
    columns: Sequence[Composable] = (),
    amounts: Sequence[SharedAmount] = OWN_AMOUNT,
) -> Composed:
    """Return a SELECT of the credited rows of the events `e` that meet `condition`, unordered: `event_id,
    event_time, contact_id, company_id, event_name, amount, touchpoint_id, occurred_at, source_id, tag_set_id,
    place, touches, units, step`, and `share` if the model needs it. The model's `credit` turns them into
    credit.

    `condition` may also use the touch as `t`. `events` may be a subset of events, with further `columns`.
    With two `amounts`, `events` has `space_amount`, and the rows also have `space_amount, space_units,
    space_step, space_share`.
    """
    model = MODELS[attribution.model]
    spread = model.take is CreditedTouches.EACH
    shares = [SQL("t.{}").format(amount.column("share")) for amount in amounts]
    extra_columns = [*(shares if model.is_weighted else []), *columns]
    units = "units" if spread else "no_units"
    if len(amounts) > 1:
        extra_columns.append(SQL("e.space_amount"))
        if spread:
            units = "units_of_both"
            extra_columns += [SQL("m.space_units"), SQL("m.space_step")]
    return queries["credited"].format(
        events=events,
        also=SQL("").join(SQL(", {}").format(column) for column in extra_columns),
        money=queries[units],
        credited_touches=credited_touches(attribution, amounts),
        condition=condition,
    )


def has_credit(attribution: Attribution) -> Composed:
    """Return the condition that the requested sources have credit of an event `e`, for a model that picks one
    touch. Reads the path once. `e` needs `event_time`, `contact_id`, `company_id`.
    """
    return queries["has_credit"].format(credited_touches=credited_touches(attribution))


async def narrow(connection: AsyncConnection, space_id: int, attribution: Attribution) -> EventCondition:
    """Return the condition on events that can have credit of the requested sources. Not needed for
    correctness, but saves computing every event's path.
    """
    cursor = await connection.execute(*holders_query(attribution, space_id))
    return narrowing(attribution, await cursor.fetchone())


def narrow_by_mask(attribution: Attribution) -> EventCondition:
    """Filter sources that aren't rare by the contacts' paths."""
    return EventCondition(_MASKED, {"source_mask": source_mask(attribution.creditable())})


def holders_query(attribution: Attribution, space_id: int) -> tuple[Composed, dict[str, Any]]:
    """Return the query for `narrowing`, with its values."""
    company_id = SQL("t.company_id" if attribution.by_company else "NULL::bigint")
    bound = {"space_id": space_id, "source_ids": attribution.creditable(), "rare": RARE}
    return queries["holders"].format(company_id=company_id), bound


def narrowing(attribution: Attribution, holders: tuple[Any, ...] | None) -> EventCondition:
    """Filter by contacts with touches of the requested sources."""
    sources = attribution.creditable()
    if not sources:
        return EventCondition(SQL("false"), {})
    is_rare, contact_ids, company_ids = holders or (True, [], [])
    values = {"contacts": contact_ids, "companies": company_ids, "source_mask": source_mask(sources)}
    return EventCondition(_NARROWED[attribution.by_company, is_rare], values)


def credited_touches(attribution: Attribution, amounts: Sequence[SharedAmount] = OWN_AMOUNT) -> Composed:
    """Return a SELECT of the touches of one event `e` that get credit: `id, occurred_at, source_id,
    tag_set_id, place, touches`, to join LATERAL, with `share` of the units of a row `m` for each amount if
    the model needs it. `e` needs `event_time`, `contact_id` and `company_id`.
    """
    model = MODELS[attribution.model]
    window = _WITHIN_WINDOW if attribution.window_days else _LIFETIME
    owners = _OF_COMPANY if attribution.by_company else (_OF_CONTACT,)
    return SQL(" UNION ALL ").join(_select_touches(model, owner, window, amounts) for owner in owners)


def _repeat(columns: str, amounts: Sequence[SharedAmount]) -> Composed:
    names = ("units", "share", "lost", "given", "turn")
    return SQL(", ").join(
        queries[columns].format(**{name: amount.column(name) for name in names}) for amount in amounts
    )


def _select_touches(model: Model, owner: SQL, window: SQL, amounts: Sequence[SharedAmount]) -> Composed:
    paths = [
        queries["path"].format(owner=owner, counting=counting.sql, window=window)
        for counting in model.counting
    ]
    if model.take is CreditedTouches.EACH:
        (path,) = paths
        weight = TRAINED_WEIGHT if model.needs_training else SQL("1")
        columns = {
            "turns": _repeat("turn_of_source", amounts),
            "rounded_down": _repeat("rounded_down", amounts),
            "shares": _repeat(_SHARES[model.share.spread], amounts) if model.is_weighted else None,
        }
        return queries[_SPREADS[model.share.spread]].format(path=path, weight=weight, **columns)
    direction = SQL("ASC" if model.take is CreditedTouches.FIRST else "DESC")
    picks = [queries["pick"].format(path=path, direction=direction) for path in paths]
    if len(picks) == 1:
        return picks[0]
    return queries["either"].format(picks=SQL(" UNION ALL ").join(picks))
