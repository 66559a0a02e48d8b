"""The place of each table in a cluster: distributed by Space, the same on each node, or only on the first.

Tables of Spaces' rows are distributed, so that joined rows are on one node. Tables read before the Space is
known, by the hash of a key or a token, are on every node, like the few small tables without a Space. Accepted
input waits on the first node, so it does not depend on the others. A test compares the lists with the schema.
"""

from __future__ import annotations

DISTRIBUTED = (
    "space_locks",
    "ad_names",
    "alert_rules",
    "alert_steps",
    "alert_watches",
    "alerts",
    "answer_phrases",
    "answer_rereadings",
    "bot_views",
    "channels",
    "chart_notes",
    "clicks",
    "companies",
    "contact_identifiers",
    "contacts",
    "currency_days",
    "current_models",
    "custom_alert_rules",
    "deliveries",
    "delivery_attempts",
    "delivery_counts",
    "destinations",
    "duplicates",
    "erasures",
    "events",
    "export_schedules",
    "exports",
    "failed_jobs",
    "trained_models",
    "trained_weights",
    "forgotten_keys",
    "former_events",
    "former_rates",
    "former_spend",
    "former_touchpoints",
    "hits",
    "hour_counts",
    "import_jobs",
    "imports",
    "merges",
    "messages",
    "automatic_training",
    "new_rows",
    "order_refunds",
    "page_view_upkeep",
    "path_days",
    "path_segments",
    "pending_paths",
    "rates",
    "reclassifications",
    "refused_joins",
    "refused_rows",
    "retention_passes",
    "revisions",
    "saved_views",
    "scheduled_reports",
    "ignored_names",
    "site_refusals",
    "site_tests",
    "source_names",
    "spend",
    "spend_connections",
    "tag_sets",
    "touchpoints",
    "unsigned_joins",
    "verdict_requests",
    "visit_counts",
    "visits",
    "watched_files",
    "webhook_deliveries",
)
"""By space_id and colocated."""

REFERENCE = (
    "spaces",
    "users",
    "api_keys",
    "attempts",
    "backups",
    "event_labels",
    "field_labels",
    "former_reference_rates",
    "installation",
    "invitations",
    "mcp_tokens",
    "memberships",
    "migrations",
    "oauth_clients",
    "oauth_codes",
    "one_time_links",
    "paid_networks",
    "passkeys",
    "recovery_codes",
    "reference_changes",
    "reference_rates",
    "sessions",
    "share_links",
    "sites",
    "space_limits",
    "sso_identities",
    "sso_password_users",
    "sso_providers",
    "totp_factors",
    "webhooks",
)
"""The same on every node. A write goes to all of them, so none is written for each event."""

QUEUES = ("inbox", "rejected", "audit_entries", "unsent_audit_entries")
"""Only on the first node, and known to the cluster: a transaction that also writes a Space's rows is
committed on both nodes or on neither.
"""

FIRST_NODE = ("rate_limits",)
"""Only on the first node, and unknown to the cluster: written for each request, outside of other
transactions.
"""
