"""The rows of the isolation tests: what each operation can refer to, and how it is called."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from headwater.api.operations import OPERATIONS
from headwater.endpoints.operations import Operation
from headwater.http.inputs.pagination import CURSOR
from tests.support.two_spaces import CLAIMS, TWIN

RANGE = {"start_date": "2026-01-01 00:00:00", "end_date": "2026-12-31 23:59:59"}
EVENT = {"event_name": "purchase", "email": "ada@example.com"}
TOUCHPOINT = {"occurred_at": "2026-05-13", "source": "sms", "email": "ada@example.com"}
FIELDS = ["profile_id", "company_id", "configured_name", "amount", "event_url"]
LIKE_TWINS = {
    "custom_field_filters[0][field]": "profile_field_1",
    "custom_field_filters[0][operator]": "equal_to",
    "custom_field_filters[0][value]": TWIN,
}
CREDITED = {
    "sources": ["google_ads", "direct"], "attribution_model": "linear", "attribution_window": 0,
    "fields": [*FIELDS, "touchpoint_id", "campaign_name", "ad_name"],
}  # fmt: skip
JOURNEY = {
    "include_trk_tokens": 1, "include_events": 1, "hide_direct_touchpoints": 0,
    "include_browsing_session_data": 1, "use_custom_field_labels": 1,
}  # fmt: skip
ROWS = {
    "include_trk_tokens": 1, "include_all_emails": 1, "include_custom_fields": 1,
    "use_custom_field_labels": 1,
}  # fmt: skip

DESTINATION = {
    "platform": "tiktok", "settings": {"pixel_code": "PIXEL1"}, "secrets": {"access_token": "t"},
}  # fmt: skip

TRAINED_MODEL = {"name": "May", "event_name": "purchase", "start_date": "2026-05-01",
       "end_date": "2026-05-31"}  # fmt: skip

SPEND_CONNECTION = {"platform": "meta", "settings": {"ad_account_id": "1"}, "secrets": {"access_token": "x"}}

IMPORTS = ("events", "orders", "contacts", "touchpoints", "spend", "ads")
FILES = {
    "event": "event_name,email\npurchase,ada@example.com\n",
    "order": "order_id,event_time,amount,email\n1,2026-05-13,5,ada@example.com\n",
    "contact": "email\nada@example.com\n",
    "touchpoint": "email,occurred_at,source\nada@example.com,2026-05-13,direct\n",
    "spend": "date,platform,amount,currency\n2026-05-13,google,1,EUR\n",
    "ad": "kind,id,name\nad,named,Eve\n",
}

UNKNOWN: dict[str, Any] = {
    **dict.fromkeys(
        (
            "event",
            "receipt",
            "contact",
            "company",
            "export",
            "contact_export",
            "company_export",
            "export_schedule",
            *(f"{kind}_import" for kind in IMPORTS),
            "destination",
            "held_destination",
            "lending_destination",
            "connection",
            "watched_file",
            "delivery",
            "trained_model",
        ),
        999999999999999999,
    ),
    "deliveries": [999999999999999999],
    "email": "nobody@nowhere.example",
    "network": "nobody_ads",
    "cursor": "A" * 80,
}


@dataclass(frozen=True)
class Row:
    """How to test one operation."""

    names: dict[str, tuple[str, int]] = field(default_factory=dict)
    """By position in the request: the kind of thing it refers to, and the status for an unknown one."""
    body: dict[str, Any] | None = None
    file: str | None = None
    """The body of an operation that accepts a file."""
    views: tuple[dict[str, Any], ...] = ({},)
    """Sets of query parameters: the first is for all tests, and reading uses all of them."""


IN_PATHS = {
    "/receipts/{receipt_id}": "receipt",
    "/events/{event_id}": "event",
    "/contacts/{id}": "contact",
    "/contacts/by-email/{email}": "email",
    "/companies/{id}": "company",
    "/trained-models/{trained_model_id}": "trained_model",
    "/destinations/{destination_id}": "destination",
    "/spend/connections/{connection_id}": "connection",
    "/watched-files/{watched_file_id}": "watched_file",
    "/deliveries/{delivery_id}": "delivery",
    "/events/exports/{export_id}": "export",
    "/contacts/exports/{export_id}": "contact_export",
    "/companies/exports/{export_id}": "company_export",
    "/exports/schedules/{schedule_id}": "export_schedule",
    **{f"/{kind}/imports/{{import_id}}": f"{kind}_import" for kind in IMPORTS},
    "/sources/networks/{name}": "network",
}
"""The kind of thing that the last parameter of a path refers to, in this path and longer ones."""

OWN = {
    "create_event": Row(body=EVENT),
    "create_events": Row(body={"events": [EVENT]}),
    "create_touchpoints": Row(body={"touchpoints": [TOUCHPOINT]}),
    "list_events": Row(
        views=(
            RANGE,
            {**RANGE, **LIKE_TWINS, "fields": [*FIELDS, "space_id"]},
            {**RANGE, **CREDITED},
            {**RANGE, **CREDITED, "query_mode": "company"},
        )
    ),
    "get_report": Row(
        views=(
            RANGE,
            {**RANGE, "measures": ["events", "revenue"], "group_by": ["contact", "company"]},
            {**RANGE, "group_by": ["campaign", "country"], "query_mode": "company"},
            {**RANGE, "measures": ["touched_events", "new_customers"], "group_by": ["landing_page"]},
        )
    ),
    "get_changes": Row(views=({**RANGE, "since": "2026-05-01 00:00:00"},)),
    "get_spend_changes": Row(views=({**RANGE, "since": "2026-05-01 00:00:00"},)),
    "get_platform_comparison": Row(views=({**RANGE, "platform": "google"},)),
    "list_credits": Row(
        views=(
            RANGE,
            {**RANGE, **LIKE_TWINS},
            {**RANGE, "sources": ["google_ads"], "query_mode": "company", "credit": "touched"},
            {**RANGE, "only": ["channel:paid", "customer:returning"], "attribution_model": "linear"},
        )
    ),
    "update_event": Row(body={"amount": 1}),
    "list_contacts": Row(
        names={"query.email": ("email", 200)}, views=(RANGE, {**RANGE, **ROWS}, {**RANGE, **LIKE_TWINS})
    ),
    "create_contact": Row(body={"emails": ["ada@example.com"]}),
    "get_contact": Row(views=({}, JOURNEY)),
    "get_contact_by_email": Row(views=({}, JOURNEY)),
    "find_contact_by_email": Row(names={"query.email": ("email", 404)}, views=({}, JOURNEY)),
    "update_contact": Row(body={"names": ["Eve"]}),
    "attach_contact_company": Row(names={"body.company_id": ("company", 404)}, body={}),
    "delete_contact_pii_by_email": Row(names={"query.email": ("email", 404)}),
    "list_companies": Row(views=({}, RANGE)),
    "update_company": Row(body={**CLAIMS, "name": "Eve"}),
    "put_ads": Row(body={"ads": [{"kind": "campaign", "id": "named", "name": "Eve"}]}),
    "put_spend": Row(
        body={"spend": [{"date": "2026-05-13", "platform": "x", "amount": 1, "currency": "EUR"}]}
    ),
    "put_network": Row(body={"name": "taboola_ads", "platform": "taboola"}),
    "put_rates": Row(body={"rates": [{"date": "2026-05-13", "base": "EUR", "currency": "JPY", "rate": 160}]}),
    "delete_spend": Row(views=({"start_date": "2026-05-13", "end_date": "2026-05-13"},)),
    "create_spend_connection": Row(
        names={"body.destination_id": ("lending_destination", 422)}, body=SPEND_CONNECTION
    ),
    "update_spend_connection": Row(body={"name": "Eve"}),
    "create_watched_file": Row(body={"address": "https://reports.example/x.csv"}),
    "update_watched_file": Row(body={"name": "Eve"}),
    "create_trained_model": Row(body=TRAINED_MODEL),
    "create_destination": Row(body=DESTINATION),
    "update_destination": Row(body={"name": "Eve"}),
    "resume_destination": Row(names={"path.destination_id": ("held_destination", 404)}),
    "list_deliveries": Row(names={"query.event_id": ("event", 200)}),
    "preview_delivery": Row(names={"query.event_id": ("event", 404)}),
    "replay_deliveries": Row(names={"body.delivery_ids": ("deliveries", 200)}, body={}),
    "create_event_export": Row(body={"date": "2026-05-13"}),
    "create_contact_export": Row(body=RANGE),
    "create_company_export": Row(body=RANGE),
    **{f"create_{kind}_import": Row(file=text) for kind, text in FILES.items()},
    "create_export_schedule": Row(body={"table": "companies"}),
    "create_export_runs": Row(body={"start_date": "2026-05-13", "end_date": "2026-05-14"}),
}
"""The parts of an operation's row that the API's table doesn't contain."""


def matrix_row(operation: Operation) -> Row:
    """Return the operation's row: the references in its path and cursor, and its entry in OWN."""
    missing = 404 if 404 in operation.errors else operation.status
    names = {
        f"path.{path[path.index('{') + 1 : -1]}": (kind, missing)
        for path, kind in IN_PATHS.items()
        if operation.path.startswith(path)
    }
    if CURSOR.name in {parameter["name"] for parameter in operation.parameters}:
        names["query.cursor"] = ("cursor", 422)
    entry = OWN.get(operation.id, Row())
    return replace(entry, names=names | entry.names)


MATRIX = {operation.id: matrix_row(operation) for operation in OPERATIONS}

NAMES_NOTHING = {
    "query": {
        "start_date", "end_date", "per_page", "query_mode", "event_names", "sources",
        "attribution_model", "attribution_window", "fields", "custom_field_filters",
        "include_trk_tokens", "include_all_emails", "include_custom_fields",
        "use_custom_field_labels", "include_events", "hide_direct_touchpoints",
        "include_browsing_session_data", "status", "reason", "amount_min", "amount_max", "order_by",
        "measures", "group_by", "period", "attribution_models", "campaign", "date_basis", "compare",
        "limit", "only", "credit", "platform", "account_id", "campaign_id", "currency", "preview",
        "completeness", "trained_model", "acquired", "acquired_by",
        "since", "until", "click_window",
        "name", "columns", "event_name", "timezone", "decimals", "dates", "separator", "encoding",
    },
    "body": {
        "address", "kind",
        "amount", "events", "touchpoints", "ads", "emails", "phones", "names", "locations",
        "custom_fields", "name", "domain", "external_id", "date", "start_date", "end_date",
        "query_mode", "event_names", "sources", "attribution_model", "attribution_window", "fields",
        "include_trk_tokens", "platform", "settings", "secrets", "all_events", "status", "reason",
        "spend", "as_of", "rates", "trained_model", "event_name", "current", "format", "compression",
        "rows_per_file", "whole_range", "table", "cadence", "rewritten_days",
        "spellings",
    },
}  # fmt: skip
"""Parameters and keys that refer to nothing stored, or to something that every Space may have. All others
must be in the operation's row.
"""
