"""Notes on unusual parts of a page's URL. Pure."""

from __future__ import annotations

from urllib.parse import unquote_plus

from headwater.sources.addresses import APP, read_address
from headwater.sources.hierarchy import PARAMETERS as AD_PARAMETERS
from headwater.sources.parameters import MARKS, split_pairs
from headwater.sources.placeholders import is_placeholder

MAX_LENGTH = 2048
"""The longest page URL that the tracker and the API accept."""
_KNOWN_PARAMETERS = MARKS | AD_PARAMETERS
_NO_HOST = "This is not a page URL: it has no host, such as shop.example. Its parameters are read anyway."


def note_address(url: str) -> list[str]:
    return [*_check_host(url), *_check_length(url), *_check_fragment(url), *_check_parameters(url)]


def has_scheme(url: str) -> bool:
    return url.lstrip().lower().startswith(("https://", "http://"))


def _check_host(url: str) -> list[str]:
    address = read_address(url)
    if address is None:
        return [_NO_HOST]
    if address.host.startswith(APP):
        return ["This is the address of an app, not of a page."]
    notes: list[str] = []
    if not has_scheme(url):
        notes.append("It doesn't begin with https://, which is assumed.")
    if not url.isascii() and "xn--" in address.host:
        notes.append(f"Browsers write its host as {address.host}.")
    return notes


def _check_length(url: str) -> list[str]:
    if len(url) <= MAX_LENGTH:
        return []
    return [f"It has {len(url):,} characters. Page views with more than {MAX_LENGTH:,} are refused."]


def _check_fragment(url: str) -> list[str]:
    address, _, fragment = url.partition("#")
    names = [name for name, _ in split_pairs(fragment) if name in _KNOWN_PARAMETERS]
    if not names:
        return []
    subject = f"{_join_names(names)} {'is' if len(set(names)) == 1 else 'are'} after the #"
    if all(name not in MARKS for name, _ in split_pairs(address.partition("?")[2])):
        return [f"{subject}, where other tools don't look. Put parameters before it."]
    return [f"{subject} and ignored, because there are such parameters before it."]


def _check_parameters(url: str) -> list[str]:
    names: set[str] = set()
    repeated: list[str] = []
    unfilled: list[str] = []
    for name, raw in split_pairs(url.partition("#")[0].partition("?")[2]):
        if name not in _KNOWN_PARAMETERS:
            continue
        if name in names:
            repeated.append(name)
        names.add(name)
        if is_placeholder(raw) or is_placeholder(unquote_plus(raw)):
            unfilled.append(name)
    notes: list[str] = []
    if repeated:
        notes.append(f"{_join_names(repeated)} occurs more than once. The first one with a value counts.")
    if unfilled:
        notes.append(
            f"{_join_names(unfilled)} {'has' if len(set(unfilled)) == 1 else 'have'} a placeholder "
            "that the ad platform fills in. Unfilled, it counts as absent."
        )
    return notes


def _join_names(names: list[str]) -> str:
    distinct_names = list(dict.fromkeys(names))
    return " and ".join(filter(None, (", ".join(distinct_names[:-1]), distinct_names[-1])))
