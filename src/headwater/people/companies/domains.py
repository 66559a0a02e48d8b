"""Domains that stand for a company: the registrable domain of a business address, in one form.
Registrable is a domain below a public suffix, those of the list's private section included: nobody
belongs to uk.com, and a@x.uk.com belongs to x.uk.com. Hosts that strangers share have no company.

Names with letters beyond ASCII are kept in the form that the domain name system uses (A-labels,
`xn--…`), so that both ways of writing one are the same company.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.resources import files

from tldextract import TLDExtract

from headwater.sources.addresses import name_in_ascii

# The bundled snapshot of the public suffix list alone: nothing is fetched or cached on disk.
_EXTRACT = TLDExtract(cache_dir=None, suffix_list_urls=(), fallback_to_snapshot=True)

_LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL})+")
_A_LABEL = re.compile(r"\bxn--([a-z0-9-]+)")


def business_domain(email: str) -> str | None:
    """The registrable domain of a business address, or None for a consumer or unusable one."""
    return _business(email.rpartition("@")[2])


def parse_company_domain(text: str) -> str:
    """The domain of a company from a host name as people write it, which may begin with `www.` and
    end in a dot. Raises ValueError for one that no business address can have.
    """
    host = _in_ascii(text.strip().lower()).removesuffix(".")
    domain = _registrable(host) if _HOST.fullmatch(host) else ""
    if domain and _is_shared(host):
        raise ValueError(f"must be a company's own: at {domain} anybody can have an address.")
    if not domain:
        raise ValueError("must be a domain below a public suffix, as acme.com or acme.co.uk.")
    if host not in (domain, f"www.{domain}"):
        raise ValueError(f"must be {domain}: companies are grouped by their registrable domain.")
    return domain


def registrable_domain(host: str) -> str:
    """The domain of a host that somebody has registered, or below which a service gives each of its
    customers a domain of their own; "" for a host without one.
    """
    return _registrable(_in_ascii(host))


def readable_domain(domain: str) -> str:
    """A domain in the letters that people write it in."""
    try:
        return _A_LABEL.sub(lambda label: label[1].encode().decode("punycode"), domain)
    except UnicodeError:  # whatever it is, it was not made from letters
        return domain


@lru_cache(maxsize=65_536)
def _business(host: str) -> str | None:
    host = _in_ascii(host)
    domain = _registrable(host)
    return domain if domain and not _is_shared(host) else None


def _registrable(host: str) -> str:
    """The registrable domain of a host in ASCII, or ""."""
    extracted = _EXTRACT.extract_str(host, include_psl_private_domains=True)
    return extracted.top_domain_under_public_suffix.lower()


def _is_shared(host: str) -> bool:
    """True when strangers share a host, or one above it, in one country or in all."""
    labels = host.lower().split(".")
    country = len(_EXTRACT.extract_str(host).suffix.split("."))
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
