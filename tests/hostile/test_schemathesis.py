"""All requests that the document allows, and many that it forbids, sent to the running application.

schemathesis generates the requests from the document and checks each answer against it: status, body,
headers, methods, access, and that a request is refused exactly when it breaks a stated rule.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import psycopg

from tests.conftest import API, Running
from tests.support.campaigns import IS_LONG, campaign_size
from tests.support.factories import make_stage

HERE = Path(__file__).parent
EXAMPLES = campaign_size("HEADWATER_SCHEMATHESIS_EXAMPLES", 1, 8)
PHASES = "examples,coverage,fuzzing" if IS_LONG else "fuzzing"
"""The coverage phase breaks every rule of every field, which takes minutes. In an ordinary run, a separate
test covers the examples: http/test_reference_page.py.
"""


def account(connection: psycopg.Connection, name: str) -> dict[str, Any]:
    """Create a Space with every field labelled and some data, and return its key."""
    stage = make_stage(connection)
    for slot in range(1, 31):
        stage.label_field(f"profile_field_{slot}")
    company_id = stage.company(domain="acme.example")
    contact_id = stage.contact(email="ada@example.com", profile_field_1="gold", company_id=company_id)
    stage.identifier(contact_id, "email", "ada@example.com")
    stage.hit(contact_id, stage.visit(contact_id))
    for source in ("google_ads", "direct"):
        stage.touchpoint(contact_id, source)
    for amount in (5, None):
        stage.event(contact_id, amount=amount)
    destination_id = stage.destination()
    stage.attempt(stage.add_delivery(destination_id, stage.event(contact_id, event_time="now")))
    header = {"name": "Authorization", "value": f"Bearer {stage.key}"}
    return {"name": name, "fixedHeaders": [header]}


def test_the_document_is_true(server: Running, connection: psycopg.Connection, tmp_path: Path) -> None:
    accounts = tmp_path / "accounts.json"
    accounts.write_text(json.dumps({"auth": [account(connection, "a"), account(connection, "b")]}))
    run = subprocess.run(
        [
            sys.executable, "-m", "schemathesis.cli",
            "--config-file", HERE / "schemathesis.toml", "run", "--no-color",
            "--checks", "all", "--exclude-checks", "ensure_resource_availability",
            "--max-examples", str(EXAMPLES), "--phases", PHASES,
            "--generation-deterministic", "--continue-on-failure", "--warnings", "off",
            "--suppress-health-check", "filter_too_much,too_slow",
            f"{server.base_url}/public-api/v1/openapi.json",
        ],
        cwd=tmp_path, capture_output=True, text=True, timeout=900, check=False,
        env={**os.environ, "ACCOUNTS": str(accounts),
             "SCHEMATHESIS_HOOKS": "tests.hostile.schemathesis_checks",
             "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr


def test_lists_of_sources_have_their_bound(server: Running, client: httpx.Client) -> None:
    document = httpx.get(f"{server.base_url}{API}/openapi.json").json()
    bounds = {
        path.removeprefix(API): parameter["schema"]["maxItems"]
        for path, methods in document["paths"].items()
        for parameter in methods.get("get", {}).get("parameters", ())
        if parameter["name"] == "sources"
    }
    assert bounds
    for path, maximum in bounds.items():
        for count in (maximum, maximum + 1):
            query = {"sources[]": [f"n{number}_ads" for number in range(count)]}
            errors = client.get(path, params=query).json()["errors"]["sources"]
            is_refused = any("must not have more than" in rule for rule in errors)
            assert is_refused == (count > maximum), (path, errors)
