"""Webhook types are found where they are defined, and each is complete."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from headwater.intake.webhooks import providers
from headwater.intake.webhooks.providers import PROVIDERS
from tests.house.test_docs import DOCS
from tests.support.webhook_samples import SAMPLES

NEW_TYPE = """
from headwater.intake.webhooks.providers.generic import GENERIC
from msgspec.structs import replace

PAYHOUSE = replace(GENERIC, type="payhouse")
"""


def test_a_module_is_a_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "payhouse.py").write_text(NEW_TYPE)
    monkeypatch.setattr(providers, "__path__", [*providers.__path__, str(tmp_path)])
    try:
        all_providers = providers._find_providers()
    finally:
        del sys.modules["headwater.intake.webhooks.providers.payhouse"]
    assert all_providers.keys() - PROVIDERS.keys() == {"payhouse"}


def test_every_type_has_a_sample() -> None:
    assert SAMPLES.keys() == PROVIDERS.keys()


def test_every_type_is_documented() -> None:
    page = (DOCS / "webhooks.md").read_text()
    assert set(re.findall(r"`(\w+)`", page)) >= PROVIDERS.keys()
