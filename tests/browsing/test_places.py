"""The location of an IP address, from the operator's own database."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mmdb_writer import MMDBWriter
from netaddr import IPSet

from headwater.base.failure import Failure
from headwater.base.settings import Settings, read_settings
from headwater.events.browsing.places import NOWHERE, Place, Places
from tests.conftest import run_application
from tests.support.factories import Stage
from tests.support.sites import make_site, page

LONDON: dict[str, Any] = {
    "country": {"iso_code": "GB", "names": {"en": "United Kingdom"}},
    "subdivisions": [{"iso_code": "ENG", "names": {"en": "England"}}],
    "city": {"names": {"de": "London (DE)", "en": "London"}},
}
ODD: dict[str, Any] = {"country": "GB", "subdivisions": [], "city": {"names": {"en": 7}}}


def database(folder: Path, kind: str = "GeoLite2-City", version: int = 6) -> Path:
    writer = MMDBWriter(version, kind, ipv4_compatible=version == 6)
    writer.insert_network(IPSet(["127.0.0.0/8"]), LONDON)
    writer.insert_network(IPSet(["203.0.113.0/24"]), {"country": {"iso_code": "DE"}})
    writer.insert_network(IPSet(["198.51.100.0/24"]), ODD)
    path = folder / "places.mmdb"
    writer.to_db_file(str(path))
    return path


def test_it_works(tmp_path: Path) -> None:
    places = Places(database(tmp_path))
    assert places.find("127.0.0.1") == Place("GB", "England", "London")
    assert places.find("203.0.113.9") == Place("DE", None, None)


@pytest.mark.parametrize("ip", [None, "192.0.2.1", "2001:4860::1", "198.51.100.1", "nowhere"])
def test_unknown_addresses_have_no_place(tmp_path: Path, ip: str | None) -> None:
    assert Places(database(tmp_path)).find(ip) == NOWHERE


def test_ipv6_in_a_database_of_ipv4(tmp_path: Path) -> None:
    assert Places(database(tmp_path, version=4)).find("2001:4860::1") == NOWHERE


def test_without_a_database() -> None:
    assert Places(None).find("127.0.0.1") == NOWHERE


def read(path: Path) -> Settings:
    return read_settings({"HEADWATER_GEOIP_DB": str(path)})


def test_a_file_that_is_none_stops_the_start(tmp_path: Path) -> None:
    assert read(database(tmp_path)).geoip_db == tmp_path / "places.mmdb"
    with pytest.raises(Failure, match=r"HEADWATER_GEOIP_DB: .*nothing is not a file"):
        read(tmp_path / "nothing")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(Failure, match=r"HEADWATER_GEOIP_DB: .*text is not a MaxMind database"):
        read(tmp_path / "text")
    with pytest.raises(Failure, match="of type GeoLite2-ASN, not of cities or countries"):
        read(database(tmp_path, "GeoLite2-ASN"))


def test_hits_have_places(tmp_path: Path, stage: Stage, database_url: str) -> None:
    application = run_application(Settings(geoip_db=database(tmp_path)), database_url)
    try:
        site = make_site(stage, application.base_url)
        assert site.report(page()).status_code == 202
    finally:
        application.stop()
    (hit,) = site.payloads("hit")
    assert (hit["country"], hit["state"], hit["city"]) == ("GB", "England", "London")
