"""Derive a company's domain from a business email.

A registrable domain is one label below a public suffix, including the list's private section: a@x.uk.com
belongs to x.uk.com, and uk.com is no company. Hosts shared by strangers are no company either. Non-ASCII
names are A-labels (`xn--…`), so that both spellings are the same company.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.resources import files

from headwater.sources.addresses import name_in_ascii
from headwater.sources.public_suffixes import find_public_suffix, find_registrable_domain

_LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL})+")
_A_LABEL = re.compile(r"\bxn--([a-z0-9-]+)")


def business_domain(email: str) -> str | None:
    """Return None for a consumer or unusable address."""
    return _business(email.rpartition("@")[2])


def parse_company_domain(text: str) -> str:
    """Raise ValueError if no business email can have the domain."""
    host = _in_ascii(text.strip().lower()).removesuffix(".")
    domain = _registrable(host) if _HOST.fullmatch(host) else ""
    if domain and _is_shared(host):
        raise ValueError(f"must be a company's own domain: anyone can have an address at {domain}.")
    if not domain:
        raise ValueError("must be a domain below a public suffix, such as acme.com or acme.co.uk.")
    if host not in (domain, f"www.{domain}"):
        raise ValueError(f"must be {domain}: companies are grouped by their registrable domain.")
    return domain


def registrable_domain(host: str) -> str:
    """Return the registered domain, or a customer's domain at a hosting service."""
    return _registrable(_in_ascii(host))


def readable_domain(domain: str) -> str:
    try:
        return _A_LABEL.sub(lambda label: label[1].encode().decode("punycode"), domain)
    except UnicodeError:  # not a valid A-label
        return domain


@lru_cache(maxsize=65_536)
def _business(host: str) -> str | None:
    host = _in_ascii(host)
    domain = _registrable(host)
    return domain if domain and not _is_shared(host) else None


def _registrable(host: str) -> str:
    return find_registrable_domain(host.lower())


def _is_shared(host: str) -> bool:
    """Check the host and its parents, in one country or in all."""
    labels = host.lower().split(".")
    country = len(find_public_suffix(host.lower(), only_registries=True).split("."))
    names = labels[: len(labels) - country]
    lines = {".".join(labels[index:]) for index in range(len(labels))}
    lines |= {f"*.{'.'.join(labels[index:])}" for index in range(1, len(labels))}
    lines |= {f"{'.'.join(names[index:])}.*" for index in range(len(names))}
    return not _SHARED.isdisjoint(lines)


def _in_ascii(host: str) -> str:
    return host if host.isascii() else name_in_ascii(host)


def _shared_hosts() -> frozenset[str]:
    folder = files("headwater.people.companies")
    texts = [folder.joinpath(name).read_text("utf-8") for name in _LISTS]
    lines = (line.strip().lower() for text in texts for line in text.splitlines())
    return frozenset(line for line in lines if line and not line.startswith("#"))


_LISTS = ("consumer_domains.txt", "shared_hosts.txt")
_SHARED = _shared_hosts()
