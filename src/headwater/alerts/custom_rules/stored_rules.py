from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from decimal import Decimal
from typing import Any

from psycopg import AsyncConnection
from psycopg.rows import dict_row

from headwater.alerts.custom_rules.models import CustomRule, RuleCondition, RuleTerms
from headwater.alerts.history import end_alert
from headwater.alerts.rules import Rule
from headwater.alerts.watches import hasten
from headwater.database.queries import Queries, fetch_all, fetch_one, fetch_optional
from headwater.http.errors import Invalid, require_found
from headwater.reports.query import Group
from headwater.sources.ad_platforms import platform_title
from headwater.sources.catalogue import CHANNELS
from headwater.sources.titles import format_title
from headwater.spaces.locks import lock_space
from headwater.spaces.models import Space

queries = Queries(__name__, "stored_rules.sql")

MOST_RULES = 50
MOST_CHECKED = 20
"""The most rules checked in one pass."""
MOST_CAMPAIGNS = 300


async def list_rules(connection: AsyncConnection, space_id: int) -> list[CustomRule]:
    cursor = connection.cursor(row_factory=dict_row)
    rows = await fetch_all(cursor, queries["list"], {"space_id": space_id, "most": MOST_RULES})
    return [_read_rule(row) for row in rows]


async def list_due_rules(connection: AsyncConnection, space_id: int, hour: datetime) -> list[CustomRule]:
    """Return rules not checked since `hour`."""
    cursor = connection.cursor(row_factory=dict_row)
    values = {"space_id": space_id, "hour": hour, "most": MOST_CHECKED}
    return [_read_rule(row) for row in await fetch_all(cursor, queries["due"], values)]


async def list_filters(connection: AsyncConnection, space: Space) -> dict[str, dict[str, str]]:
    """Return the selectable filters with their names, by group."""
    names = space.sources
    values = {"space_id": space.id, "most": MOST_CAMPAIGNS}
    campaigns = await fetch_all(connection, queries["campaigns"], values)
    titles = {
        Group.PLATFORM: {key: platform_title(key) for key in names.platform_sources},
        Group.SOURCE: {key: format_title(key) for key in names.sources},
        Group.CHANNEL: {key: format_title(key) for key in CHANNELS},
        Group.CAMPAIGN: {key: name or key for key, name in campaigns},
    }
    return {
        str(group): {
            f"{group}:{key}": title
            for key, title in sorted(group_titles.items(), key=lambda pair: pair[1].casefold())
        }
        for group, group_titles in titles.items()
    }


async def create_rule(connection: AsyncConnection, space_id: int, terms: RuleTerms) -> int:
    """Return the rule's id. Raise Invalid at the limit."""
    # Without the lock, concurrent requests could exceed the limit.
    await lock_space(connection, space_id)
    (number,) = await fetch_one(connection, queries["count"], {"space_id": space_id})
    if number >= MOST_RULES:
        raise Invalid.of(
            "measure", f"cannot get another rule: there are {MOST_RULES}, the maximum. Delete one first."
        )
    values = {"space_id": space_id, **asdict(terms)}
    (rule_id,) = await fetch_one(connection, queries["create"], values)
    await hasten(connection, space_id)
    return rule_id


async def change_rule(
    connection: AsyncConnection, space_id: int, rule_id: int, terms: RuleTerms, moment: datetime
) -> None:
    """Replace a rule's terms and end its alert. Raise NotFound if missing."""
    values = {"space_id": space_id, "id": rule_id, **asdict(terms)}
    require_found(await fetch_optional(connection, queries["change"], values), "Rule")
    await end_alert(connection, space_id, (Rule.CUSTOM, str(rule_id)), moment)
    await hasten(connection, space_id)


async def mute_rule(
    connection: AsyncConnection, space_id: int, rule_id: int, muted_until: datetime | None
) -> None:
    """Raise NotFound if missing."""
    values = {"space_id": space_id, "id": rule_id, "muted_until": muted_until}
    require_found(await fetch_optional(connection, queries["mute"], values), "Rule")


async def delete_rule(connection: AsyncConnection, space_id: int, rule_id: int, moment: datetime) -> None:
    """End its alert too. Raise NotFound if missing."""
    values = {"space_id": space_id, "id": rule_id}
    require_found(await fetch_optional(connection, queries["delete"], values), "Rule")
    await end_alert(connection, space_id, (Rule.CUSTOM, str(rule_id)), moment)


async def record_check(
    connection: AsyncConnection,
    space_id: int,
    rule: CustomRule,
    moment: datetime,
    result: tuple[Decimal | None, str],
) -> bool:
    """Store a check's figure and note. Return False if the rule was changed or deleted meanwhile."""
    figure, note = result
    values = {
        "space_id": space_id,
        "id": rule.id,
        "changed_at": rule.changed_at,
        "at": moment,
        "figure": figure,
        "note": note,
    }
    return await fetch_optional(connection, queries["record"], values) is not None


def _read_rule(row: dict[str, Any]) -> CustomRule:
    group_by = row["group_by"]
    terms = RuleTerms(
        row["measure"],
        RuleCondition(row["condition"]),
        row["threshold"],
        row["currency"],
        row["days"],
        row["filter"],
        row["filter_name"],
        Group(group_by) if group_by else None,
    )
    names = ("id", "changed_at", "muted_until", "checked_at", "figure", "note")
    return CustomRule(terms=terms, **{name: row[name] for name in names})
