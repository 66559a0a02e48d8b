"""Domains that stand for a company: the registrable domain of a business address, in one form.

Names with letters beyond ASCII are kept in the form that the domain name system uses (A-labels,
`xn--…`), so that both ways of writing one are the same company.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

import idna
from tldextract import TLDExtract

# The bundled snapshot of the public suffix list alone: nothing is fetched or cached on disk.
_EXTRACT = TLDExtract(cache_dir=None, suffix_list_urls=(), fallback_to_snapshot=True)


def business_domain(email: str) -> str | None:
    """The registrable domain of a business address, or None for a consumer or unusable one."""
    return _business(email.rpartition("@")[2])


def parse_company_domain(text: str) -> str:
    """The domain of a company from a host name as people write it, which may begin with `www.` and
    end in a dot. Raises ValueError for one that no business address can have.
    """
    host = text.strip().lower().removesuffix(".")
    try:
        domain = _registrable(host)
    except ValueError:
        domain = ""
    if not domain:
        raise ValueError("must be a domain below a public suffix, as acme.com or acme.co.uk.")
    if _in_ascii(host.removeprefix("www.")) not in (domain, domain.removeprefix("www.")):
        raise ValueError(f"must be {domain}: companies are grouped by their registrable domain.")
    if domain in _CONSUMER:
        raise ValueError(f"must be a company's own: at {domain} anybody can have an address.")
    return domain


def readable_domain(domain: str) -> str:
    """A domain in the letters that people write it in."""
    try:
        return idna.decode(domain) if "xn--" in domain else domain
    except idna.IDNAError:  # a registry's own, older rules
        return domain


@lru_cache(maxsize=65_536)
def _business(host: str) -> str | None:
    try:
        domain = _registrable(host)
    except ValueError:
        return None
    return domain if domain and domain not in _CONSUMER else None


def _registrable(host: str) -> str:
    """The registrable domain of a host in ASCII, or "". Raises ValueError for no name at all."""
    return _EXTRACT.extract_str(_in_ascii(host)).top_domain_under_public_suffix.lower()


def _in_ascii(host: str) -> str:
    """A host with its labels as A-labels. Raises ValueError (an IDNAError is one)."""
    return host if host.isascii() else idna.encode(host, uts46=True).decode()


def _consumer_domains() -> frozenset[str]:
    text = files("headwater.companies").joinpath("consumer_domains.txt").read_text("utf-8")
    lines = (line.strip().lower() for line in text.splitlines())
    return frozenset(line for line in lines if line and not line.startswith("#"))


_CONSUMER = _consumer_domains()
