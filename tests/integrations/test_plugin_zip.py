"""The WooCommerce plugin's zip: what WordPress and its plugin directory read from it."""

from __future__ import annotations

import re
from pathlib import Path
from zipfile import ZipFile

import pytest
from scripts.build_plugin import NAME, PLUGIN, build, read_header, write_catalogue

from tests.support.sizes import ROOT

SECTIONS = ["Description", "External services", "Installation", "Frequently Asked Questions", "Changelog"]
SHARED_FIELDS = {"Requires at least", "Requires PHP", "License", "License URI"}


@pytest.fixture(scope="module")
def readme() -> str:
    return (PLUGIN / "readme.txt").read_text()


@pytest.fixture(scope="module")
def readme_fields(readme: str) -> dict[str, str]:
    return dict(re.findall(r"^([A-Z][A-Za-z ]+): (.+)$", readme.partition("\n\n")[0], re.MULTILINE))


def test_the_same_files_give_the_same_bytes(tmp_path: Path) -> None:
    zips = [build(tmp_path / folder) for folder in ("a", "b")]
    assert zips[0].read_bytes() == zips[1].read_bytes()


def test_it_holds_the_plugin_its_license_and_its_texts(tmp_path: Path) -> None:
    with ZipFile(build(tmp_path)) as archive:
        names = set(archive.namelist())
        license_text = archive.read(f"{NAME}/LICENSE")
    php = {f"{NAME}/{path.relative_to(PLUGIN)}" for path in PLUGIN.rglob("*.php")}
    other_names = {f"{NAME}/{name}" for name in ("readme.txt", "LICENSE", f"languages/{NAME}.pot")}
    assert names == php | other_names
    assert license_text == (ROOT / "LICENSE").read_bytes()


def test_the_readme_and_the_header_agree(readme: str, readme_fields: dict[str, str]) -> None:
    header = read_header()
    assert readme.startswith(f"=== {header['Plugin Name']} ===\n")
    assert readme_fields["Stable tag"] == header["Version"]
    assert {name: readme_fields[name] for name in SHARED_FIELDS} == {
        name: header[name] for name in SHARED_FIELDS
    }
    assert header["Requires Plugins"] == "woocommerce"
    assert header["Text Domain"] == NAME
    assert f"= {header['Version']} =" in readme


def test_the_readme_is_in_the_form_of_the_plugin_directory(
    readme: str, readme_fields: dict[str, str]
) -> None:
    assert re.findall(r"^== (.+) ==$", readme, re.MULTILINE) == SECTIONS
    assert len(readme_fields["Tags"].split(",")) <= 5
    summary = readme.split("\n\n")[1]
    assert len(summary) <= 150
    assert re.fullmatch(r"[0-9]+\.[0-9]+", readme_fields["Tested up to"])


def test_the_catalogue_has_every_translated_text() -> None:
    """Each call of a translating function names the plugin's text domain."""
    source = "".join(path.read_text() for path in PLUGIN.rglob("*.php"))
    calls = re.findall(r"\b(?:esc_html|esc_attr)?_[_ex]?\( '|\besc_(?:html|attr)__\( '", source)
    assert len(calls) == len(re.findall(rf"', '{NAME}' \)", source))
    catalogue = write_catalogue()
    for text in ("Send past orders", "Signing secret of the site", "API key"):
        assert f'msgid "{text}"\n' in catalogue
    assert "#. translators: 1: an HTTP status. 2: the reason.\n" in catalogue
    assert len(re.findall(r"^msgid ", catalogue, re.MULTILINE)) == len(set(catalogue.split("\n\n")))
