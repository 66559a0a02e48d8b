"""The complete public API: operations, rate limits and the OpenAPI document.

To serve, document and limit an operation, add it to the table of its subject.
"""

from __future__ import annotations

from collections.abc import Mapping

from headwater.api.ads import OPERATIONS as ADS
from headwater.api.attribution import OPERATIONS as ATTRIBUTION
from headwater.api.companies import OPERATIONS as COMPANIES
from headwater.api.contacts import OPERATIONS as CONTACTS
from headwater.api.deliveries import OPERATIONS as DELIVERIES
from headwater.api.destinations import OPERATIONS as DESTINATIONS
from headwater.api.erasures import OPERATIONS as PRIVACY
from headwater.api.events import OPERATIONS as EVENTS
from headwater.api.export_schedules import OPERATIONS as EXPORT_SCHEDULES
from headwater.api.exports import OPERATIONS as EXPORTS
from headwater.api.imports import OPERATIONS as IMPORTS
from headwater.api.ingest import OPERATIONS as INGEST
from headwater.api.networks import OPERATIONS as NETWORKS
from headwater.api.rates import OPERATIONS as RATES
from headwater.api.reports import OPERATIONS as REPORTS
from headwater.api.spend import OPERATIONS as SPEND
from headwater.api.spend_connections import OPERATIONS as SPEND_CONNECTIONS
from headwater.api.trained_models import OPERATIONS as TRAINED_MODELS
from headwater.api.watched_files import OPERATIONS as WATCHED_FILES
from headwater.assistants.mcp.context import CALLING
from headwater.endpoints.document import build_document
from headwater.endpoints.operations import Operation, Schema, limits_by_bucket
from headwater.http.rate_limits import RateLimit
from headwater.intake.ingest.schemas import INGEST_SCHEMAS
from headwater.spaces.sites.sites import REPORTING

PREFIX = "/public-api/v1"
DESCRIPTION = (
    "Send conversions, sign-ups and refunds, and read back which sources earned them. Create an "
    "API key, send it as a bearer token, and begin with POST /events/track."
)

OPERATIONS: tuple[Operation, ...] = (
    *INGEST,
    *EVENTS,
    *CONTACTS,
    *COMPANIES,
    *REPORTS,
    *ATTRIBUTION,
    *TRAINED_MODELS,
    *ADS,
    *SPEND,
    *SPEND_CONNECTIONS,
    *RATES,
    *NETWORKS,
    *IMPORTS,
    *WATCHED_FILES,
    *EXPORTS,
    *EXPORT_SCHEDULES,
    *PRIVACY,
    *DESTINATIONS,
    *DELIVERIES,
)
RATE_LIMITS: Mapping[str, RateLimit] = limits_by_bucket(
    [*(operation.limit for operation in OPERATIONS), REPORTING, CALLING]
)
"""A Space's rate limits by bucket, including the limits of browsers and assistants."""


def describe_api(product: str = "", address: str = "/") -> Schema:
    """Return the OpenAPI document; `product` is the service's name and version, `address` its base URL."""
    document = build_document(OPERATIONS, PREFIX, INGEST_SCHEMAS)
    document["info"] |= {
        "summary": product,
        "description": DESCRIPTION,
        "contact": {"name": "The operator of this installation"},
        "license": {"name": "Apache License 2.0", "identifier": "Apache-2.0"},
    }
    document["servers"] = [{"url": address}]
    return document
