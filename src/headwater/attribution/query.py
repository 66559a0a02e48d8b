"""The one query that applies the models: lists, exports and reports all read from it.

`credited_rows` is a SELECT to be wrapped; the outer query orders, pages or sums. Paths are computed
event by event through covering indexes, so the cost follows the page's rows, not the stored rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from psycopg import AsyncConnection
from psycopg.sql import SQL, Composable, Composed

from headwater.attribution.models import (
    FITTED_WEIGHT,
    MODELS,
    PAID,
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
"""Sources with at most this many touches in a Space are looked up from their touches."""

_OF_CONTACT = SQL("t.contact_id = e.contact_id")
# Exactly one of the two holds, and each is answered by an index of its own, as an OR would not be.
_OF_COMPANY = (
    SQL("t.company_id = e.company_id"),
    SQL("t.contact_id = e.contact_id AND e.company_id IS NULL"),
)
_WITHIN_WINDOW = SQL("t.occurred_at >= e.event_time - make_interval(secs => %(lookback)s)")
_LIFETIME = SQL("true")

# By (by_company, rare): rare sources name their few contacts; others leave their bit in the
# event's source_mask, which holds for the contact's own path only, not for its company's.
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
    """The model and window that decide which touches get credit, and the requested sources."""

    model: str
    window_days: int
    """One of WINDOWS."""
    source_ids: tuple[int, ...]
    by_company: bool = False
    """True when an event's path includes its whole company, if it has one."""
    weights: tuple[int, ...] = ()
    """The weights of sources, from number 1, in the fit of the model; at most a billion."""

    def parameters(self) -> dict[str, Any]:
        """The values that `credited_rows` binds, besides `space_id`."""
        bound: dict[str, Any] = {"source_ids": list(self.source_ids), "lookback": self.window_days * 86_400}
        if MODELS[self.model].is_fitted:
            bound["source_weights"] = array(self.weights)
        return bound

    def creditable(self) -> list[int]:
        """The requested sources that the model can credit at all."""
        paid_only = MODELS[self.model].counting == (PAID,)
        return [number for number in self.source_ids if not paid_only or number in PAID.source_ids]


@dataclass(frozen=True)
class EventCondition:
    """A condition on events `e` that holds for every credited row, and the values that it binds."""

    only: Composable
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
    only: Composable,
    events: Composable = EVERY_EVENT,
    also: Sequence[Composable] = (),
    amounts: Sequence[SharedAmount] = OWN_AMOUNT,
) -> Composed:
    """The credited rows of the events `e` that meet `only`, as a SELECT of `event_id, event_time,
    contact_id, company_id, event_name, amount, touchpoint_id, occurred_at, source_id, tag_set_id,
    place, touches, units, step`, in no order, and `share` where the model needs it. `only` may also
    name the touch as `t`. The model's `credit` turns these into the credit. `events` may be a part
    of all events; `also` names more of its columns that the rows have. Of two `amounts`, `events`
    has `space_amount`, and the rows have `space_amount, space_units, space_step, space_share` too.
    """
    model = MODELS[attribution.model]
    spread = model.take is CreditedTouches.EACH
    shares = [SQL("t.{}").format(amount.column("share")) for amount in amounts]
    more = [*(shares if model.is_weighted else []), *also]
    units = "units" if spread else "no_units"
    if len(amounts) > 1:
        more.append(SQL("e.space_amount"))
        if spread:
            units = "units_of_both"
            more += [SQL("m.space_units"), SQL("m.space_step")]
    return queries["credited"].format(
        events=events,
        also=SQL("").join(SQL(", {}").format(column) for column in more),
        money=queries[units],
        credited_touches=credited_touches(attribution, amounts),
        only=only,
    )


def has_credit(attribution: Attribution) -> Composed:
    """The condition that the requested sources have credit of an event `e`, by a model that picks
    one touch: one look at its path. `e` needs `event_time`, `contact_id` and `company_id`.
    """
    return queries["has_credit"].format(credited_touches=credited_touches(attribution))


async def narrow(connection: AsyncConnection, space_id: int, attribution: Attribution) -> EventCondition:
    """The condition that the requested sources put on the events that can have credited rows.

    The query is correct without it, but would compute the path of every event without credit.
    """
    cursor = await connection.execute(*holders_query(attribution, space_id))
    return narrowing(attribution, await cursor.fetchone())


def narrow_by_mask(attribution: Attribution) -> EventCondition:
    """The same for sources that are known not to be rare, by the paths of contacts."""
    return EventCondition(_MASKED, {"source_mask": source_mask(attribution.creditable())})


def holders_query(attribution: Attribution, space_id: int) -> tuple[Composed, dict[str, Any]]:
    """The query whose row `narrowing` takes, and the values that it binds."""
    company_id = SQL("t.company_id" if attribution.by_company else "NULL::bigint")
    bound = {"space_id": space_id, "source_ids": attribution.creditable(), "rare": RARE}
    return queries["holders"].format(company_id=company_id), bound


def narrowing(attribution: Attribution, holders: tuple[Any, ...] | None) -> EventCondition:
    """The condition that follows from the contacts with touches of the requested sources."""
    sources = attribution.creditable()
    if not sources:
        return EventCondition(SQL("false"), {})
    rare, contact_ids, company_ids = holders or (True, [], [])
    values = {"contacts": contact_ids, "companies": company_ids, "source_mask": source_mask(sources)}
    return EventCondition(_NARROWED[attribution.by_company, rare], values)


def credited_touches(attribution: Attribution, amounts: Sequence[SharedAmount] = OWN_AMOUNT) -> Composed:
    """The touches of one event `e` that get a part of it, as a SELECT of `id, occurred_at,
    source_id, tag_set_id, place, touches` to be joined LATERAL, with `share` of the units of a row
    `m`, of each of the amounts, where the model needs it. `e` needs `event_time`, `contact_id` and
    `company_id`.
    """
    model = MODELS[attribution.model]
    window = _WITHIN_WINDOW if attribution.window_days else _LIFETIME
    owners = _OF_COMPANY if attribution.by_company else (_OF_CONTACT,)
    return SQL(" UNION ALL ").join(_of_path(model, owner, window, amounts) for owner in owners)


def _repeat(columns: str, amounts: Sequence[SharedAmount]) -> Composed:
    """Return the columns of each of some amounts."""
    names = ("units", "share", "lost", "given", "turn")
    return SQL(", ").join(
        queries[columns].format(**{name: amount.column(name) for name in names}) for amount in amounts
    )


def _of_path(model: Model, owner: SQL, window: SQL, amounts: Sequence[SharedAmount]) -> Composed:
    paths = [
        queries["path"].format(owner=owner, counting=counting.sql, window=window)
        for counting in model.counting
    ]
    if model.take is CreditedTouches.EACH:
        (path,) = paths
        weight = FITTED_WEIGHT if model.is_fitted else SQL("1")
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
