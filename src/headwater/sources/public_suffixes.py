"""The public suffix list, with which browsers tell a domain's owner from those who rent out names below it.

The list is the installed package's copy: nothing is fetched. It is read when first needed.
"""

from __future__ import annotations

from functools import cache

from publicsuffixlist import PublicSuffixList


def find_public_suffix(host: str, *, only_registries: bool = False) -> str:
    """Return the suffix of a lower-case ASCII host, "" where the list has no rule for it.

    `only_registries` leaves out the list's private section: github.io is a suffix only with it.
    """
    return _read_list(only_registries).publicsuffix(host) or ""


def find_registrable_domain(host: str) -> str:
    """Return the suffix and one label before it, "" where the list has no rule or nothing stands before."""
    return _read_list(False).privatesuffix(host) or ""


@cache
def _read_list(only_registries: bool) -> PublicSuffixList:
    return PublicSuffixList(accept_unknown=False, only_icann=only_registries)
