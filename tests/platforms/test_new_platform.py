"""A new platform needs its folder, its test and lines in two documentation pages. It is found, offered and
sent to without code elsewhere.
"""

from __future__ import annotations

import ast
import asyncio
import json
import re
import shutil
import sys
from collections.abc import Iterator
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from types import ModuleType

import httpx
import pytest

from headwater.base.failure import Failure
from headwater.base.settings import Settings, read_settings
from headwater.forwarding.destinations.destination_check import DestinationCheck, try_destination
from headwater.forwarding.platforms import registry
from headwater.forwarding.platforms.models import AdConsent, ConvertedPerson, SkipReason
from headwater.forwarding.platforms.origins import find_url, list_operator_hosts
from headwater.forwarding.platforms.platform import Platform
from headwater.forwarding.platforms.registry import PLATFORMS
from headwater.http.inputs.account_kinds import find_kinds
from tests.platforms.examples import BARE, destination, make_conversion
from tests.support.destinations import FakeSender, keep_no_token, make_response
from tests.support.sizes import ROOT

SOURCE = ROOT / "src" / "headwater"
FILES = (
    "src/headwater/forwarding/platforms/{name}/__init__.py",
    "src/headwater/forwarding/platforms/{name}/README.md",
    "tests/platforms/test_{name}.py",
    "docs/forwarding.md",
    "docs/configuration.md",
)
"""All files that name a new platform. A large platform may have more modules in its folder."""

OTHER_MEANINGS = {
    "sources": "networks that visits come from, whether or not anything is sent there",
    "demo": "links of sample visits",
    "site_tests": "an element of HTML",
    "spend": "services whose reports of costs are known, whether or not anything is sent there",
}
"""Folders where the same words mean something else."""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A platforms package that contains one platform."""
    folder = tmp_path / "more_platforms" / "acme"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").touch()
    shutil.copy(Path(__file__).parent / "acme.py", folder / "__init__.py")
    monkeypatch.syspath_prepend(tmp_path)
    yield import_module("more_platforms")
    for name in [name for name in sys.modules if name.startswith("more_platforms")]:
        del sys.modules[name]


@pytest.fixture
def acme(package: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Platform:
    """The new platform, registered with the others."""
    platforms = find_kinds(package, Platform)
    monkeypatch.setitem(registry.PLATFORMS, "acme", platforms["acme"])
    return platforms["acme"]


def test_it_works(acme: Platform, client: httpx.Client) -> None:
    platforms = client.get("/platforms").json()["data"]
    assert [platform["name"] for platform in platforms] == list(PLATFORMS)
    description = platforms[-1]
    assert (description["name"], description["title"]) == (acme.name, acme.title)
    assert description["limits"] == {"batch": 50, "age_days": 7}
    assert description["settings"]["required"] == ["account"]
    assert description["secrets"] == [
        {"name": "access_token", "description": "Access token of the account.", "required": True}
    ]
    body = {
        "platform": "acme", "settings": {"account": "7"}, "secrets": {"access_token": "secret"},
    }  # fmt: skip
    answer = client.post("/destinations", json=body)
    assert answer.status_code == 201, answer.text
    assert answer.json()["settings"] == {"account": "7", "consent_denied": "limit"}
    assert {"event_name": "purchase", "sent_as": "sale", "own": False} in answer.json()["mapping"]
    refusal = client.post("/destinations", json={"platform": "acne"})
    assert "microsoft_offline, chatgpt_ads, acme." in refusal.text


def test_its_origin_is_a_setting(acme: Platform) -> None:
    settings = read_settings({"HEADWATER_ACME_URL": "http://127.0.0.1:9"})
    assert find_url(settings, acme) == "http://127.0.0.1:9"
    assert list_operator_hosts(settings) == {"127.0.0.1"}
    assert find_url(Settings(), acme) == "https://api.acme.example"
    with pytest.raises(Failure, match=r"^HEADWATER_ACME_URL: must be "):
        read_settings({"HEADWATER_ACME_URL": "127.0.0.1"})


def test_what_it_need_not_say_itself(acme: Platform) -> None:
    target = destination(acme, {"account": "7"}, secrets={"access_token": "secret"})
    sender = FakeSender(make_response(201))
    check = asyncio.run(try_destination(sender, target, acme, keep_no_token))
    assert check == DestinationCheck(True, 201, "Acme Ads accepted the test event.", None)
    (call,) = sender.calls
    assert call.headers["Authorization"] == "Bearer secret"
    refused_event = make_conversion(BARE, consent=AdConsent(ad_user_data=False))
    assert acme.skip_reason(refused_event, target) is None
    strict = destination(acme, {"account": "7", "consent_denied": "skip"})
    assert acme.skip_reason(refused_event, strict) is SkipReason.NO_CONSENT
    assert acme.skip_reason(make_conversion(BARE, amount=Decimal(5)), target) is SkipReason.NO_CURRENCY
    payload = acme.build(make_conversion(BARE, person=ConvertedPerson(email="ann@example.com")), target)
    assert "ann" not in json.dumps(acme.redact(payload))
    assert acme.count_fitting([payload] * 3) == 3


@pytest.mark.parametrize("lines", ['name = "other"', "", 'class Acme2(Acme): name = "acme"'])
def test_a_folder_without_its_one_platform_is_an_error(package: ModuleType, lines: str) -> None:
    module = Path(package.__path__[0]) / "acme" / "__init__.py"
    text = module.read_text()
    if not lines:
        module.write_text("")
    elif lines.startswith("class"):
        module.write_text(f"{text}\n\n{lines}\n")
    else:
        module.write_text(text.replace('name = "acme"', lines))
    with pytest.raises(LookupError, match="must define one platform, named acme"):
        find_kinds(package, Platform)


def test_every_folder_is_a_platform() -> None:
    folders = {path.parent.name for path in (SOURCE / "forwarding" / "platforms").glob("*/__init__.py")}
    assert set(PLATFORMS) == folders


@pytest.mark.parametrize("name", PLATFORMS)
def test_a_platform_is_at_most_five_files(name: str) -> None:
    assert len(FILES) <= 5
    for pattern in FILES:
        path = ROOT / pattern.format(name=name)
        assert path.is_file(), pattern
        words = rf"\b{name.replace('_', '[_ ]')}\b"
        assert re.search(words, path.read_text(), re.IGNORECASE), pattern


def names_in(path: Path) -> set[str]:
    """Return the platforms that a module names: in a string, as a variable or in an import."""
    tree = ast.parse(path.read_text())
    words: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            words.add(re.sub(r"^HEADWATER_(\w+)_URL$", r"\1", node.value).lower())
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            words.update(module.removeprefix("headwater.forwarding.platforms.").split("."))
        elif isinstance(node, ast.Attribute | ast.Name):
            word = node.attr if isinstance(node, ast.Attribute) else node.id
            words.add(word.removesuffix("_url"))
    return words & set(PLATFORMS)


def test_nothing_else_names_a_platform(tmp_path: Path) -> None:
    modules = [
        path
        for path in SOURCE.rglob("*.py")
        if not {"platforms", *OTHER_MEANINGS} & set(path.relative_to(SOURCE).parent.parts)
    ]
    assert {str(path): names for path in modules if (names := names_in(path))} == {}
    shared = [path for path in (SOURCE / "forwarding" / "platforms").glob("*.py") if path.stem != "registry"]
    assert {str(path): names for path in shared if (names := names_in(path))} == {}
    planted_file = tmp_path / "planted.py"
    for line in ('P = "meta"', "settings.google_url", 'V = "HEADWATER_TIKTOK_URL"',
                 "from headwater.forwarding.platforms.reddit import Reddit"):  # fmt: skip
        planted_file.write_text(line)
        assert len(names_in(planted_file)) == 1, line
