"""The Prometheus and Grafana files for the metrics, and the program that checks them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import pytest

from tests.support.sizes import ROOT

DASHBOARD = ROOT / "deploy" / "grafana" / "headwater.json"
REQUIRED = os.environ.get("HEADWATER_TEST_PROMTOOL") == "required"


def expressions() -> list[tuple[str, str]]:
    """Return every expression of the dashboard, with its panel."""
    board = json.loads(DASHBOARD.read_text())
    return [
        (panel["title"], target["expr"].replace("$__rate_interval", "5m"))
        for panel in board["panels"]
        for target in panel.get("targets", [])
    ]


def promtool(*arguments: str, text: str | None = None) -> str:
    program = shutil.which("promtool")
    if program is None:
        assert not REQUIRED
        pytest.skip("there is no promtool")
    result = subprocess.run([program, *arguments], input=text, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout + result.stderr
