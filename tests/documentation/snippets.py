"""The code blocks in the documentation, and how the tests treat each of them."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

from tests.support.sizes import ROOT

WHERE = ("README.md", "CONTRIBUTING.md", "docs/*.md", "docs/clients/*.md", "sdks/*/README.md",
         "src/headwater/forwarding/platforms/*/README.md")  # fmt: skip
PAGES = [path.relative_to(ROOT).as_posix() for pattern in WHERE for path in sorted(ROOT.glob(pattern))]
_BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)

PROGRAMS = ("headwater", ".venv/bin/headwater", "curl", "cd", "sed", "printf")
"""Lines that start with one of these are run."""

NOT_RUN = {
    r"make (demo|serve)\b": "serves until it is stopped: tests/demo and tests/crash run both",
    r"make (setup|test|check|crash)\b": "what runs these tests",
    r"make plugin": "tests/integrations/test_plugin_zip.py builds the same",
    r"make bench ": "a measurement: a service under load for minutes",
    r"make soak": "half an hour of load: tests/crash/test_soak.py",
    r"pipx |uv tool |python3 -m venv |pip install |gh attestation ": (
        "needs the package index or a release: tests/packaging with HEADWATER_TEST_INSTALL"
    ),
    r"headwater completion ": "writes into the home of whoever types it: tests/cli has it",
    r"podman |docker ": "needs a container engine: tests/packaging reads the files",
    r"helm |kubectl ": "needs a cluster: tests/packaging/test_chart.py renders the chart",
    r"install -m |systemd-sysusers|systemctl |runuser ": "changes the machine: tests/packaging",
    r"cp secret.key ": "the file of an installation that is restored: tests/backups",
    r'\{"url"': "what the line before it prints",
    r"headwater (backup|restore|serve) ": "takes the whole installation: tests/backups",
    r"headwater upgrade ": "takes an installation on an older PostgreSQL: tests/upgrades",
    r"headwater reload ": "takes a service that runs: tests/crash/test_reload.py",
    r"headwater import orders ": "needs a shop's export: tests/imports/test_past_orders.py",
    r"headwater import shop ": "calls a shop: tests/imports/test_shop_interfaces.py has pretend ones",
    r"headwater destination test ": "calls Meta: tests/destinations call a pretend one",
    r"30 3 \* \* \* ": "a line of cron",
    r"claude mcp add ": "another maker's program: tests/conformance has other people's clients",
    r"npm install ": "needs the package registry",
    r"HEADWATER_DATA_DIR=\S+ OTEL_": "serves until it is stopped: tests/telemetry",
    r"HEADWATER_\w+=": "a variable: tests/packaging/test_proxies.py serves with it",
}
"""Lines that are not run, with the reason."""

QUERIED = {
    "visits.csv": (
        "occurred_at,trk_token,tracking_id,url,referrer\n"
        "2026-05-13T09:30:00Z,123456.7654321,,https://shop.example/?utm_source=newsletter,\n"
    ),
    "purchases.csv": (
        "event_name,event_time,trk_token,tracking_id,order_id,amount,currency\n"
        "purchase,2026-05-14T10:00:00Z,123456.7654321,,1001,89.5,EUR\n"
    ),
    "ga4-orders.csv": "Transaction ID,Purchase revenue\n1001,89.5\n",
}
"""The results of the queries in docs/moving.md, and a list of orders from GA4."""

ELSEWHERE = {
    ("docs/install.md", "# "): "tests/packaging/test_proxies.py",
    ("docs/install.md", "mode: "): "tests/packaging/test_chart.py",
    ("docs/install.md", "settings:"): "tests/packaging/test_chart.py",
    ("docs/tracker.md", "<script"): "tests/browser/test_tracker.py",
    ("docs/tracker.md", "import hashlib"): "tests/identity/test_signed_identify.py",
    ("docs/tracker.md", "const { createHmac }"): "tests/identity/test_signed_identify.py",
    ("docs/tracker.md", "<?php"): "tests/documentation/test_snippets.py",
    ("docs/assistants.md", "import httpx2"): "tests/documentation/test_snippets.py",
    ("docs/moving.md", "SELECT"): "tests/documentation/test_moving.py",
    ("docs/exports.md", "import duckdb"): "tests/exports/test_export_formats.py",
    ("docs/attribution.md", '"My sister'): "tests/sources/test_answers.py",
    ("docs/operations.md", "CREATE ROLE"): "tests/database/test_row_security.py",
    ("docs/attribution.md", "google_ads "): "tests/documentation/test_models_page.py",
    ("docs/spend.md", '{"left_out_money"'): "tests/reports/test_currencies.py",
    ("docs/webhooks.md", "{"): "tests/webhooks/test_webhook_docs.py",
    ("docs/privacy.md", "SELECT "): "tests/documentation/test_snippets.py",
    ("docs/segment.md", "import segment"): "tests/segment/test_libraries.py",
    ("docs/segment.md", "import { Analytics }"): "tests/segment/test_libraries.py",
    ("docs/segment.md", "import { AnalyticsBrowser }"): "tests/segment/test_pages.py",
    ("sdks/python/README.md", "from "): "tests/sdks/test_python_client.py",
    ("sdks/python/README.md", "import asyncio"): "tests/sdks/test_python_client.py",
    ("sdks/python/README.md", "patient = "): "tests/sdks/test_python_client.py",
}
"""Blocks that other tests run, by page and beginning."""

NOTHING_TO_RUN = {
    ("docs/ARCHITECTURE.md", "API clients"): "a drawing",
    ("docs/reports.md", ""): "drawings",
    ("docs/exports.md", "space=7"): "names of files",
    ("docs/scaling.md", "waiting"): "a drawing",
    ("docs/spend.md", "13 May"): "a drawing",
    ("docs/spend.md", "Spend and return"): "a drawing of a page: tests/console/test_campaigns.py",
    ("docs/attribution.md", "day 1"): "a drawing",
    ("docs/api.md", "{"): "answers, which tests/reference get",
    ("docs/api.md", "custom_field_filters"): "a part of a query: tests/contacts ask with such",
    ("docs/assistants.md", "https://"): "an address",
    ("docs/assistants.md", "{"): "settings of other makers' programs",
    ("docs/audit-log.md", "{"): "a change, as in tests/console/test_audit_log.py",
    ("docs/tracker.md", '{"site"'): "a request, of whose form tests/tracker are",
    ("docs/tracker.md", "{% if customer"): "Liquid, which runs at Shopify's alone",
    ("docs/clients/shopify.md", "{% render"): "Liquid, which runs at Shopify's alone",
    ("sdks/typescript/README.md", "import "): "tests/sdks/calling.mts calls the same functions",
}
"""Blocks that aren't typed in, with their purpose."""


@dataclass(frozen=True)
class Block:
    """A block of code on a page."""

    page: str
    text: str

    @property
    def lines(self) -> list[str]:
        """Its commands, with those on several lines joined."""
        text = re.sub(r"\\\n\s*", " ", self.text)
        if "curl " in text:  # a quoted body spans lines, too
            text = re.sub(r"('\{[^']*')", lambda match: match[0].replace("\n", " "), text)
        return [line for line in text.splitlines() if line.strip()]

    def is_listed_in(self, table: dict[tuple[str, str], str]) -> bool:
        """Return whether a table contains it."""
        return any(page == self.page and self.text.startswith(start) for page, start in table)

    @property
    def is_shell(self) -> bool:
        """Whether readers type it in."""
        return not (self.is_listed_in(ELSEWHERE) or self.is_listed_in(NOTHING_TO_RUN))


def read_blocks() -> list[Block]:
    """Return every block of every page, in order."""
    return [
        Block(page, textwrap.dedent(match[3]).strip())
        for page in PAGES
        for match in _BLOCK.finditer(Path(ROOT / page).read_text())
    ]


def is_run(line: str) -> bool:
    """Return whether a shell line is run."""
    return line.split(maxsplit=1)[0] in PROGRAMS and not has_reason(line)


def has_reason(line: str) -> bool:
    """Return whether there is a reason not to run a line."""
    return any(re.match(pattern, line) for pattern in NOT_RUN)
