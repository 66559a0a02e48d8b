"""Rebuild src/headwater/sources/referrers_matomo.txt from a local checkout of its upstream data,
https://github.com/matomo-org/searchengine-and-social-list (CC0 1.0).

    python scripts/refresh_sources.py CHECKOUT           write the file
    python scripts/refresh_sources.py CHECKOUT --check   exit with 1 when the file is outdated

The same commit gives the same file. Only hosts of listed sources are used. The upstream lists have many
others, and assign sites that merely use a search engine to it. BRANDS excludes those.
"""

# ruff: noqa: INP001, T201 # a script on its own, which speaks to a terminal

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
TARGET = HERE.parent / "src" / "headwater" / "sources" / "referrers_matomo.txt"

BRANDS = {
    "AIAssistants.yml": {
        "ChatGPT": ("ai_chat_gpt", r"chatgpt|openai"),
        "Claude": ("ai_claude", r"claude"),
        "Copilot": ("ai_copilot", r"copilot"),
        "Deepseek": ("ai_deepseek", r"deepseek"),
        "Gemini": ("ai_gemini", r"gemini|bard"),
        "Grok": ("ai_grok", r"grok|x\.com/i/grok"),
        "Perplexity": ("ai_perplexity", r"perplexity"),
    },
    "SearchEngines.yml": {
        "Bing": ("bing", r"bing"),
        "Brave": ("brave", r"search\.brave"),
        "DuckDuckGo": ("duckduckgo", r"duckduckgo"),
        "Google": ("google", r"google"),
        "Google Images": ("google", r"google"),
        "Google News": ("google", r"google"),
        "Google Scholar": ("google", r"google"),
        "Google Custom Search": ("google", r"google"),
        "Google Video": ("google", r"google"),
        "Yahoo!": ("yahoo", r"yahoo"),
        "Yahoo! Images": ("yahoo", r"yahoo"),
        "Yahoo! Japan": ("yahoo", r"yahoo"),
        "Yahoo! Japan Images": ("yahoo", r"yahoo"),
        "Yahoo! Japan Videos": ("yahoo", r"yahoo"),
    },
    "Socials.yml": {
        "Facebook": ("facebook", r"facebook|fb"),
        "Instagram": ("instagram", r"instagram"),
        "LinkedIn": ("linkedin", r"linkedin(?=\.com)|lnkd"),
        "Pinterest": ("pinterest", r"pinterest"),
        "reddit": ("reddit", r"reddit"),
        "Snapchat": ("snapchat", r"snapchat"),
        "Telegram": ("telegram", r"telegram"),
        "Threads": ("threads", r"threads"),
        "TikTok": ("tiktok", r"tiktok"),
        "Twitter": ("x", r"twitter|t\.co|x\.com"),
        "YouTube": ("youtube", r"youtube|youtu"),
    },
}
"""For each upstream file, its names with our targets, and the label that a host must contain to be used."""

WHOLE_DOMAIN = frozenset({"AIAssistants.yml", "Socials.yml"})
"""Files whose hosts include all their subdomains. A search engine's subdomains may be other hosts."""

HEADER = """\
# Hosts of search engines, social networks and AI assistants: `pattern target`, as in referrers.txt.
# Written by scripts/refresh_sources.py; do not edit, referrers.txt overrides it.
# Origin: matomo-org/searchengine-and-social-list, commit {commit}.
# Licence: CC0 1.0 (public domain). Country domains of Google: scripts/google_suffixes.txt.
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("checkout", type=Path, help="a clone of the upstream repository")
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    parser.add_argument("--target", type=Path, default=TARGET, help="the file to write")
    arguments = parser.parse_args()
    text = build(arguments.checkout)
    if not arguments.check:
        arguments.target.write_text(text, encoding="utf-8")
    elif not arguments.target.exists() or arguments.target.read_text(encoding="utf-8") != text:
        print(f"{arguments.target} is not what this checkout gives")
        return 1
    return 0


def build(checkout: Path) -> str:
    """Return the whole data file."""
    commit = subprocess.run(
        ["git", "-C", str(checkout), "log", "-1", "--format=%H of %cs"],
        check=True, capture_output=True, text=True,
    ).stdout.strip()  # fmt: skip
    targets: dict[str, str] = {}
    for file, brands in BRANDS.items():
        text = (checkout / file).read_text(encoding="utf-8")
        for pattern, target in patterns(file, text, brands):
            targets.setdefault(pattern, target)
    lines = [
        f"{pattern} {target}\n"
        for pattern, target in sorted(targets.items())
        if next(
            (targets[wider_pattern] for wider_pattern in wider_patterns(pattern) if wider_pattern in targets),
            None,
        )
        != target
    ]
    return HEADER.format(commit=commit) + "".join(lines)


def patterns(file: str, text: str, brands: dict[str, tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield our patterns for an upstream file's hosts, with their targets."""
    entries = list(hosts(text))
    missing_names = brands.keys() - {name for name, _ in entries}
    if missing_names:
        raise SystemExit(f"{file} no longer has {', '.join(sorted(missing_names))}")
    for name, host in entries:
        if name not in brands or host.startswith("android-app/"):
            continue
        target, brand = brands[name]
        if re.search(rf"(?:^|\.)(?:{brand})(?=[./]|$)", host):
            for pattern in expand(host.removeprefix("www."), is_whole_host=file in WHOLE_DOMAIN):
                yield pattern, target


def hosts(text: str) -> Iterator[tuple[str, str]]:
    """Yield each host of an upstream file with its name. This reads only the two forms that the upstream
    documentation describes, and stops at anything else.
    """
    name = key = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#") or line.strip() == "-":
            continue
        if match := re.fullmatch(r"(\S.*):", line):
            name, key = match[1].strip("'\""), "urls"
        elif match := re.fullmatch(r"    (\w+):(.*)", line):
            key = match[1]
        elif match := re.fullmatch(r" +- (.+)", line):
            if key == "urls":
                yield name, match[1].strip("'\"")
        else:
            raise SystemExit(f"line {number} is not understood: {line}")


def expand(host: str, *, is_whole_host: bool) -> Iterator[str]:
    """Yield our patterns for one upstream host. `{}` means any country."""
    if re.fullmatch(r"(com|org)\.[a-z.]+", host) and not host.startswith(("com.com", "org.org")):
        yield f"android-app://{host}"
    elif host.startswith("{}."):
        yield f"*.{host[3:]}"
    elif "{}" in host:
        for suffix in suffixes():
            yield host.replace("{}", suffix)
    else:
        yield f"*.{host}" if is_whole_host else host


def wider_patterns(pattern: str) -> Iterator[str]:
    """Yield the patterns that match at least the same hosts, the narrowest first."""
    host, slash, _ = pattern.removeprefix("*.").partition("/")
    if slash:
        yield pattern.partition("/")[0]
    if not pattern.startswith("*."):
        yield f"*.{host}"
    while host := host.partition(".")[2]:
        yield f"*.{host}"


def suffixes() -> list[str]:
    lines = (HERE / "google_suffixes.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and line[0] != "#"]


if __name__ == "__main__":
    sys.exit(main())
