from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import psycopg

from headwater.base.settings import Settings
from headwater.database.installation import DEFAULT_BASE_URL, fetch_service_url
from headwater.operations.safety.database_facts import DatabaseFacts, gather_database_facts
from headwater.operations.safety.database_rules import judge_database
from headwater.operations.safety.file_facts import gather_file_facts
from headwater.operations.safety.file_rules import judge_files
from headwater.operations.safety.models import RISK_SEVERITIES, Risk, RiskSeverity
from headwater.operations.safety.setting_rules import judge_settings

CONNECT_SECONDS = 5


def inspect(settings: Settings, url: str, environ: Mapping[str, str]) -> list[Risk]:
    """Return the risks of the installation with this database, worst first."""
    risks: list[Risk] = []
    facts, base_url = None, settings.base_url or DEFAULT_BASE_URL
    try:
        with psycopg.connect(url, autocommit=True, connect_timeout=CONNECT_SECONDS) as connection:
            facts = gather_database_facts(connection, is_ours=settings.database_url is None)
            base_url = _fetch_address(connection, facts) or base_url
    except (psycopg.OperationalError, psycopg.errors.InsufficientPrivilege) as error:
        risks.append(_describe_unreachable(error))
    if facts is not None:
        risks.extend(judge_database(facts))
    files = gather_file_facts(settings, facts.recorded_folder if facts is not None else None)
    risks.extend(judge_files(settings, files))
    risks.extend(judge_settings(settings, base_url, environ))
    return sorted(risks, key=lambda risk: (RISK_SEVERITIES.index(risk.severity), risk.id))


def _fetch_address(connection: psycopg.Connection[Any], facts: DatabaseFacts) -> str | None:
    return fetch_service_url(connection) if facts.schema.is_current else None


def _describe_unreachable(error: psycopg.Error) -> Risk:
    return Risk(
        "database_unreachable",
        RiskSeverity.CRITICAL,
        str(error).splitlines()[0],
        "nothing is acknowledged, and further checks are not possible",
        "start `headwater serve` or PostgreSQL, and check its log, certificate and Headwater's user",
    )
