"""Sentences on what is unusual about the address of a page, and read otherwise than whoever wrote
it may expect. Pure and total.
"""

from __future__ import annotations

from urllib.parse import unquote_plus

from headwater.sources.addresses import APP, read_address
from headwater.sources.hierarchy import PARAMETERS as AD_PARAMETERS
from headwater.sources.parameters import MARKS, split_pairs
from headwater.sources.placeholders import is_placeholder

LONGEST = 2048
"""The longest address of a page that the tracker and the API take."""
_MEANT = MARKS | AD_PARAMETERS
_NO_HOST = (
    "This is no address of a page: there is no host in it, such as shop.example. Its parameters "
    "are read all the same."
)


def note_address(url: str) -> list[str]:
    """Return what is unusual about the address of a page, as sentences."""
    return [*_of_host(url), *_of_length(url), *_of_fragment(url), *_of_parameters(url)]


def has_scheme(url: str) -> bool:
    """True for an address that says how it is fetched."""
    return url.lstrip().lower().startswith(("https://", "http://"))


def _of_host(url: str) -> list[str]:
    address = read_address(url)
    if address is None:
        return [_NO_HOST]
    if address.host.startswith(APP):
        return ["This is the address of an app, not of a page."]
    notes: list[str] = []
    if not has_scheme(url):
        notes.append("There is no https:// in front of it: it is read as if there were.")
    if not url.isascii() and "xn--" in address.host:
        notes.append(f"Browsers write its host as {address.host}.")
    return notes


def _of_length(url: str) -> list[str]:
    if len(url) <= LONGEST:
        return []
    return [f"It has {len(url):,} characters: a page view with more than {LONGEST:,} is refused."]


def _of_fragment(url: str) -> list[str]:
    address, _, fragment = url.partition("#")
    names = [name for name, _ in split_pairs(fragment) if name in _MEANT]
    if not names:
        return []
    verb = "stands" if len(set(names)) == 1 else "stand"
    listed = f"{_listed(names)} {verb} behind the #"
    if all(name not in MARKS for name, _ in split_pairs(address.partition("?")[2])):
        return [f"{listed}, where other tools do not look: put parameters before it."]
    return [f"{listed}, which is not read, as there are such parameters before it."]


def _of_parameters(url: str) -> list[str]:
    seen: set[str] = set()
    repeated: list[str] = []
    unfilled: list[str] = []
    for name, raw in split_pairs(url.partition("#")[0].partition("?")[2]):
        if name not in _MEANT:
            continue
        if name in seen:
            repeated.append(name)
        seen.add(name)
        if is_placeholder(raw) or is_placeholder(unquote_plus(raw)):
            unfilled.append(name)
    notes: list[str] = []
    if repeated:
        notes.append(f"More than one {_listed(repeated)}: the first that has a value counts.")
    if unfilled:
        notes.append(
            f"{_listed(unfilled)} {'has' if len(set(unfilled)) == 1 else 'have'} a placeholder "
            "that the ad platform fills in; as it stands here, it counts as absent."
        )
    return notes


def _listed(names: list[str]) -> str:
    different = list(dict.fromkeys(names))
    return " and ".join(filter(None, (", ".join(different[:-1]), different[-1])))
