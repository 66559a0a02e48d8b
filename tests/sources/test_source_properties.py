"""Properties of classification for any input: it always gives a result, ignores noise and lookalikes, and
needs linear time.
"""

from __future__ import annotations

import time
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headwater.sources.catalogue import SOURCE_IDS
from headwater.sources.classify import classify, explain
from headwater.sources.evidence import _READ_PARAMETERS, Landing, SourceParameters
from headwater.sources.outcomes import NoTouch, Source
from headwater.sources.resolve import resolve
from tests.sources.test_source_cases import CASES, PAGE
from tests.support.source_rules import RULES

HOSTS = ("www.google.com", "facebook.com", "chatgpt.com", "mail.google.com", "www.paypal.com",
         "t.co", "shop.app", "x.com", "www.bing.com", "blog.example")  # fmt: skip
any_text = st.text(st.characters(), max_size=60)
url_like = st.lists(
    st.sampled_from([
        "https", "android-app", "://", "/", "//", ":", "@", "?", "#", "&", "=", "%", "%00", "%zz",
        ".", "[", "]", "\\", "www.", "google.com", "gclid", "utm_source", "utm_medium", "cpc",
        "facebook", "\0", "\ud800", "ü", "。", "\n", " ", "{{", "__", "xn--", "443", "trk_source",
    ]),
    max_size=14,
).map("".join)  # fmt: skip
hostile = any_text | url_like
names = st.text("abcdefghijklmnopqrstuvwxyz0123456789", min_size=1, max_size=8)
cases = st.sampled_from(CASES)


def outcome(query: str, referrer: str) -> Source | NoTouch:
    return classify(Landing(f"{PAGE}?{query}", referrer))


@given(hostile, hostile, hostile)
@example("https://[", "http://a:b:c/", "\ud800")
@example("//@?#", "https://xn--\ud800.com", "")
def test_any_text_is_classified(url: str, referrer: str, declared_source: str) -> None:
    explanation = explain(
        Landing(url, referrer, SourceParameters(declared_source, declared_source, declared_source))
    )
    result = explanation.outcome
    if isinstance(result, Source):
        assert result.name in SOURCE_IDS
        assert result.rule in RULES
    assert (
        classify(Landing(url, referrer, SourceParameters(declared_source, declared_source, declared_source)))
        == result
    )
    assert all("\0" not in value for value in explanation.click_ids.values())
    source, rule = resolve(SourceParameters(declared_source), url)
    assert source in SOURCE_IDS
    assert rule in RULES


@given(cases, st.lists(st.tuples(names, any_text), max_size=6), st.booleans())
def test_unknown_parameters_change_nothing(
    case: tuple[str, ...], noise: list[tuple[str, str]], is_before: bool
) -> None:
    *_, query, referrer = case
    extra = "&".join(
        f"{name}={quote(value, errors='replace')}" for name, value in noise if name not in _READ_PARAMETERS
    )
    mixed_query = f"{extra}&{query}" if is_before else f"{query}&{extra}"
    assert outcome(mixed_query, referrer) == outcome(query, referrer)


def test_thousands_of_unknown_parameters_change_nothing() -> None:
    assert outcome("a=1&" * 5_000 + "gclid=1", "-") == Source("google_ads", "gclid")


@given(cases, st.data())
def test_the_order_of_parameters_does_not_matter(case: tuple[str, ...], data: st.DataObject) -> None:
    *_, query, referrer = case
    mixed_query = "&".join(data.draw(st.permutations(query.replace("&amp;", "&").split("&"))))
    assert outcome(mixed_query, referrer) == outcome(query, referrer)


@given(st.sampled_from(HOSTS), st.data())
def test_spellings_of_a_host_do_not_matter(host: str, data: st.DataObject) -> None:
    spelling = "".join(data.draw(st.sampled_from([c.lower(), c.upper()])) for c in host)
    user = data.draw(st.sampled_from(["", "user@", "user:pass@", "www.google.de@", "a@b@"]))
    dots = data.draw(st.sampled_from(["", ".", ".."]))
    port = data.draw(st.sampled_from(["", ":", ":443", ":65535"]))
    scheme = data.draw(st.sampled_from(["https", "HTTP", "Https"]))
    plain = outcome("", f"https://{host}/")
    assert outcome("", f"{scheme}://{user}{spelling}{dots}{port}/") == plain


@pytest.mark.parametrize(
    "host",
    ["müller.example", "MÜLLER.example", "xn--mller-kva.example", "mu\u0308ller.example",
     "müller。example", "\uff4düller.example"],
)  # fmt: skip
@pytest.mark.parametrize("landing", ["https://müller.example/", "https://xn--mller-kva.example/"])
def test_punycode_and_letters_are_one_host(host: str, landing: str) -> None:
    assert isinstance(classify(Landing(landing, f"https://{host}/")), NoTouch)


@given(st.sampled_from([host.removeprefix("www.") for host in HOSTS]), names, st.data())
def test_lookalikes_never_match(host: str, other_side: str, data: st.DataObject) -> None:
    lookalike = data.draw(
        st.sampled_from([f"{other_side}{host}", f"{host}.{other_side}.example", f"{host}{other_side}",
                         f"{other_side}.example/{host}", f"{other_side}.example?{host}",
                         f"{other_side}.example#@{host}", f"{host}@{other_side}.example",
                         f"{other_side}-{host}"])
    )  # fmt: skip
    result = outcome("", f"https://{lookalike}")
    assert isinstance(result, Source)
    assert result.rule == "other_site" or result.detail in ("mail*.*", "email.*", "wmail*.*")


def test_letters_that_look_alike_never_match() -> None:
    assert outcome("", "https://www.g\u043e\u043egle.com/").detail == "xn--ggle-55da.com"


@pytest.mark.parametrize(
    "text",
    ["a" * 200_000, "." * 200_000, "https://" + "a." * 100_000, "https://" + "@" * 200_000,
     "https://" + "[" * 200_000, "https://" + "ü" * 200_000, "?" + "&" * 200_000,
     "?utm_source=" + "%" * 200_000, "?utm_medium=" + "a_" * 100_000,
     "?utm_source=" + "ads_" * 50_000, "?utm_medium=fb" + "_retargeting" * 16_000,
     "https://x/" + "/" * 200_000,
     "?" + "gclid=&" * 30_000, "?utm_source=" + "w." * 100_000, ":" * 200_000, " " * 200_000],
    ids=lambda text: text[:14],
)  # fmt: skip
def test_long_input_takes_linear_time(text: str) -> None:
    start_time = time.thread_time()
    explain(Landing(text, text, SourceParameters(text, text, text)))
    assert time.thread_time() - start_time < 10  # quadratic time would take minutes
