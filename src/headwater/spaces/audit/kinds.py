"""What entries of the audit log are about, and which values they don't keep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

Kind = Literal[
    "space",
    "event_label",
    "field_label",
    "rate_limit",
    "api_key",
    "member",
    "invitation",
    "assistant_token",
    "site",
    "webhook",
    "destination",
    "spend_connection",
    "watched_file",
    "alert_rule",
    "custom_alert_rule",
    "alert_channel",
    "scheduled_report",
    "saved_view",
    "share_link",
    "chart_note",
    "export_schedule",
    "paid_network",
    "source_name",
    "answer_phrase",
    "trained_model",
    "current_model",
    "automatic_training",
    "user",
    "authenticator",
    "passkey",
    "recovery_codes",
    "session",
    "sso_provider",
    "sso_account",
    "password_user",
]
"""Settings and access, which are read before and after a change, in the order of subjects.sql."""
RecordKind = Literal[
    "ad_names",
    "alert",
    "company",
    "contact",
    "event",
    "export",
    "import",
    "rates",
    "reference_rates",
    "rejected_events",
    "secret_key",
    "spend",
    "webhook_delivery",
]
"""Stored records, of which an entry has the ids and the names of changed fields."""
KINDS: tuple[str, ...] = tuple(sorted({*get_args(Kind), *get_args(RecordKind)}))

HIDDEN_COLUMNS: Mapping[Kind, frozenset[str]] = {
    # Could be names and addresses of people.
    "space": frozenset({"ignored_identifiers"}),
    "user": frozenset({"email", "name", "password_hash"}),
    "alert_channel": frozenset({"name", "hint", "address", "secret"}),
    # Texts that could name people.
    "chart_note": frozenset({"text"}),
    "custom_alert_rule": frozenset({"filter", "note"}),
    "saved_view": frozenset({"query"}),
    "scheduled_report": frozenset({"query"}),
    "share_link": frozenset({"query"}),
    # Secrets, encrypted or hashed as they are.
    "destination": frozenset({"secrets"}),
    "site": frozenset({"signing_secret"}),
    "spend_connection": frozenset({"secrets"}),
    "sso_provider": frozenset({"client_secret"}),
    "watched_file": frozenset({"address", "secrets"}),
    "webhook": frozenset({"secret"}),
}
"""Columns that are compared, and whose values are not kept."""
HIDDEN_VALUE = "(hidden)"
