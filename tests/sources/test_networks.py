"""A Space's own paid networks: what identifies one in a link, and what doesn't."""

from __future__ import annotations

import pytest

from headwater.sources.catalogue import ALL_IDS, SOURCE_IDS, source_bit, source_mask
from headwater.sources.classify import classify
from headwater.sources.evidence import Landing, SourceParameters
from headwater.sources.networks import NUMBERS, PaidNetwork
from headwater.sources.outcomes import Source
from headwater.sources.resolve import resolve
from headwater.sources.source_names import SourceNames, make_source_names

PAGE = "https://shop.example/"
STEMS = (
    "taboola", "criteo", "awin", "outbrain", "podcast_acast", "rtb_house", "the_trade_desk",
    "ad4mat", "tradedoubler", "cj", "impact", "rakuten", "partnerize", "mgid", "revcontent",
    "teads", "zemanta", "stackadapt", "adroll", "kevel", "spotx", "moloco", "liftoff", "vungle",
    "unity",
)  # fmt: skip
NETWORKS = tuple(
    PaidNetwork(number, f"{stem}_ads", (f"{stem}.example",), stem)
    for number, stem in zip(NUMBERS, STEMS, strict=False)
)
NAMES = make_source_names((("our-taboola", "email"),), NETWORKS)


def source(query: str, names: SourceNames = NAMES) -> Source:
    outcome = classify(Landing(f"{PAGE}?{query}"), names=names)
    assert isinstance(outcome, Source)
    return outcome


def test_it_works() -> None:
    result = source("utm_source=taboola&utm_medium=cpc")
    assert result == Source("taboola_ads", "own_network_paid", "taboola")
    assert source("utm_source=taboola&utm_medium=cpc", make_source_names(())).name == "paid_other"


@pytest.mark.parametrize("stem", STEMS)
def test_every_spelling(stem: str) -> None:
    name = f"{stem}_ads"
    spaced_name, dashed_name = stem.replace("_", "+"), stem.replace("_", "-")
    for value in (stem, stem.upper(), spaced_name, dashed_name, f"{stem}.example"):
        assert source(f"utm_source={value}&utm_medium=paid-native").name == name
        assert source(f"utm_source={value}&utm_medium=newsletter").name != name
        assert source(f"utm_source={value}").name != name
        assert source(f"trk_source={value}&trk_type=cpc").name == name
    for value in (name, name.upper(), f"{dashed_name}-ads", f"{spaced_name}+Ads", f"{stem}ads"):
        assert source(f"utm_source={value}").name == name, "paid by its ending"
        assert resolve(SourceParameters(value), None, NAMES)[0] == name


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        # A declared source wins, and a Space's own names are exact.
        ("utm_source=taboola&utm_medium=cpc&trk_source=google_ads", "google_ads"),
        ("utm_source=google&utm_medium=cpc&trk_source=taboola_ads", "taboola_ads"),
        ("utm_source=our-taboola&utm_medium=cpc", "email"),
        # The click id of another network is in the link, too.
        ("utm_source=taboola&utm_medium=cpc&gclid=1", "taboola_ads"),
        ("utm_source=taboola&gclid=1", "google_ads"),
        ("utm_source=tabool&utm_medium=cpc", "paid_other"),
        ("utm_source=google&utm_medium=cpc", "google_ads"),
    ],
)
def test_the_order_of_rules(query: str, expected: str) -> None:
    assert source(query).name == expected


def test_numbers_and_names_belong_together() -> None:
    assert len(set(ALL_IDS)) == len(ALL_IDS)
    names = SourceNames({}, NETWORKS)
    for network in NETWORKS:
        assert names.get_name(network.number) == network.name
        assert names.numbers[network.name] == network.number
        assert names.by_number[network.number - 1] == network.name
        assert names.api_names[network.number - 1] == network.name
    assert {*SOURCE_IDS, *(network.name for network in NETWORKS)} == {*names.sources}


def test_a_removed_network_keeps_its_name_alone() -> None:
    removed_network = NETWORKS[0]._replace(is_removed=True)
    names = make_source_names((), (removed_network, *NETWORKS[1:]))
    assert names.get_name(removed_network.number) == removed_network.name
    assert removed_network.name not in names.sources
    assert removed_network.platform not in names.platforms
    assert source("utm_source=taboola_ads", names).name != "taboola_ads"


def test_masks_fit_the_database_and_never_rule_out_too_much() -> None:
    assert 0 < source_mask(ALL_IDS) < 1 << 63
    for number in ALL_IDS:
        assert source_mask([number]) & source_mask(ALL_IDS) == source_bit(number) != 0
