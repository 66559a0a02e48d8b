"""List where the tables of referrers differ from Snowplow's referer-parser, as a check:

    python scripts/judge_sources.py FILE     FILE is its resources/referers.yml

Its data is under the GPL: we only compare with it and copy no line of it.
"""

# ruff: noqa: INP001, T201 # a script on its own, which speaks to a terminal

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from headwater.sources.addresses import read_address
from headwater.sources.exclusions import SHIPPED
from headwater.sources.vocabulary import REFERRERS

KINDS = {"email": {"email"}, "paid": {"paid_other", "google_ads"}}
"""The expected sources for hosts of a medium. For other media, the most frequent source of the provider is
expected.
"""


def main() -> int:
    text = Path(sys.argv[1]).read_text(encoding="utf-8")
    hosts_by_provider: dict[tuple[str, str], dict[str, str]] = {}
    for medium, provider, host in hosts(text):
        hosts_by_provider.setdefault((medium, provider), {})[host] = target(host)
    for (medium, provider), targets in hosts_by_provider.items():
        expected_names = KINDS.get(medium) or set(targets.values()) - {"-"}
        differences = [f"{host} {name}" for host, name in targets.items() if name not in expected_names]
        if differences and expected_names:
            print(f"{medium}, {provider}: {', '.join(differences)}")
    return 0


def hosts(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield each host in the file with its medium and provider. This reads only the one form of YAML in the
    file.
    """
    medium = provider = key = ""
    for line in text.splitlines():
        content, depth = line.strip(), len(line) - len(line.lstrip())
        if not content or content.startswith("#"):
            continue
        if content.startswith("- "):
            if key == "domains":
                yield medium, provider, content[2:].partition("#")[0].strip(" '\"")
        elif depth == 0:
            medium = content.rstrip(":")
        elif depth == 2:
            provider = content.rstrip(":").strip("'\"")
        else:
            key = content.rstrip(":")


def target(host: str) -> str:
    """Return Headwater's result for a host: a source, a platform, the reason for no source, or `-`."""
    is_app = host.startswith(("com.", "org."))
    address = read_address(f"{'android-app' if is_app else 'https'}://{host}")
    if address is None:
        return "-"
    exclusion = SHIPPED.find(address, None)
    match = REFERRERS.find(address)
    return exclusion.reason if exclusion is not None else match[1] if match is not None else "-"


if __name__ == "__main__":
    sys.exit(main())
