"""Functions that parse, and read nothing of strangers."""

from __future__ import annotations

from collections.abc import Mapping

TRUSTED: Mapping[str, str] = {
    "backups/": "files that we wrote, which the operator names",
    "browsing/views.py stored_view": "a column that we wrote",
    "cli/": "typed by the operator, or a row of ours",
    "demo/": "our own service's answers",
    "console/people_pages/": "rows that we wrote",
    "console/report_pages/course.py": "days of ours",
    "console/report_pages/figures.py": "figures of ours",
    "contacts/profiles.py": "a date that parse_slot_date wrote",
    "egress/addresses.py first_refusal": "addresses as the resolver writes them",
    "egress/client.py _is_address": "an address as the resolver writes it",
    "exports/tables.py CsvSink.write": "lines that we wrote",
    "platforms/amounts.py": "a number",
    "platforms/origins.py": "settings of the operator",
    "deliveries/outbox.py": "a column that we wrote",
    "platforms/google/token.py": "a service account's file, sent by an admin",
    "destinations/destination_check.py": "a number of ours",
    "destinations/credentials.py": "secrets that we sealed",
    "http/decimals.py": "a number",
    "http/exchange.py begin_exchange": "a head that the parser has bounded",
    "imports/rejected_rows.py": "a file that we wrote",
    "imports/files.py _table": "a file of the operator's, row by row",
    "mcp/pages.py": "rows that we wrote",
    "mcp/hosts.py AllowedHosts.of": "a setting of the operator",
    "mcp/tools/": "an answer of our own, or arguments that mcp.arguments reads",
    "oauth/client_metadata.py HostedClients._count": "a URL that read_redirect took",
    "pipeline/steps.py": "rows that we wrote",
    "privacy/redaction.py": "rows that we wrote",
    "quality/": "rows that we wrote",
    "reports/": "figures of ours",
    "settings.py": "settings of the operator",
    "webhooks/signatures.py _standard_key": "a secret that an admin entered",
}
"""Functions that parse but read nothing of strangers, and why; a folder or a file for all of it."""
